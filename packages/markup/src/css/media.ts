import { toPixels, viewport } from './lengths.ts'

/** Does a media query list hold on a screen of ordinary size, in light colours? What is not known does not. */
export function matchesMedia(query: string): boolean {
  const text = query.trim().toLowerCase()
  return text === '' || text.slice(0, 2048).split(',').some(matchesQuery)
}

function matchesQuery(query: string): boolean {
  const conditions = query.trim().split(/\s+and\s+/)
  return conditions.length > 0 && conditions.every(matchesCondition)
}

function matchesCondition(condition: string): boolean {
  const text = condition.trim().replace(/^only\s+/, '')
  const [, name = '', value = ''] = /^\(\s*([a-z-]+)\s*(?::\s*([^()]*?)\s*)?\)$/.exec(text) ?? []
  return name ? matchesFeature(name, value) : text === 'all' || text === 'screen'
}

function matchesFeature(name: string, value: string): boolean {
  const size = name.endsWith('height') ? viewport.height : viewport.width
  const bound = toPixels(value, { fontPx: 16, wholePx: 0 })
  if (/^min-(?:device-)?(?:width|height)$/.test(name)) return bound !== undefined && bound <= size
  if (/^max-(?:device-)?(?:width|height)$/.test(name)) return bound !== undefined && bound >= size
  return `${name}:${value}` === 'prefers-color-scheme:light' || ['color', 'width', 'height'].includes(name)
}
