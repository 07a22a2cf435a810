// Not a module: it runs before anything is painted, so that no other colours flash up.
document.documentElement.dataset.theme = localStorage.getItem('cospool.theme') ?? 'system'
