import DefaultTheme from 'vitepress/theme'
import { onMounted, onUnmounted } from 'vue'
import './style.css'

export default { ...DefaultTheme, setup: useAccessibleControls }

/** VitePress 1.6.4 puts a button into a button of the sidebar, and a label on the search that lacks its visible text (WCAG 2.5.3, 4.1.2). */
function useAccessibleControls() {
  let observer
  const fix = () => {
    for (const caret of document.querySelectorAll('.VPSidebarItem .caret[role]')) {
      caret.removeAttribute('role')
      caret.removeAttribute('tabindex')
      caret.setAttribute('aria-hidden', 'true')
    }
    for (const section of document.querySelectorAll('.VPSidebarItem.collapsible'))
      section.querySelector('.item')?.setAttribute('aria-expanded', String(!section.classList.contains('collapsed')))
    const search = document.querySelector('.DocSearch-Button')
    if (search?.innerText.trim()) search.removeAttribute('aria-label')
    else search?.setAttribute('aria-label', 'Search')
  }
  onMounted(() => {
    fix()
    observer = new MutationObserver(fix)
    window.addEventListener('resize', fix)
    observer.observe(document.body, { subtree: true, childList: true, attributeFilter: ['class'] })
  })
  onUnmounted(() => {
    window.removeEventListener('resize', fix)
    observer?.disconnect()
  })
}
