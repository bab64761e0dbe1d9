// Applies and switches the light and dark themes.
/** Applies the chosen theme, or follows the system's preference without a choice. */
const key = 'postern-theme'

export function applyTheme() {
  const chosen = localStorage.getItem(key)
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen
  else delete document.documentElement.dataset.theme
}

/** Switches from dark to light, or from light to dark. */
export function switchTheme() {
  const isDark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === 'dark'
    : matchMedia('(prefers-color-scheme: dark)').matches
  localStorage.setItem(key, isDark ? 'light' : 'dark')
  applyTheme()
}
