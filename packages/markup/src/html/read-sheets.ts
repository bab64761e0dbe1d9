import { matchesMedia } from '../css/media.ts'
import type { StyleRule } from '../css/style-sheet.ts'
import { parseStyleSheets } from '../css/style-sheet.ts'
import { tokenizeHtml } from '../elements/tokenize-html.ts'
import { hidesByProperty } from '../hidden/element-styles.ts'

/** Sheets are read up to here, all together. */
const maxSheets = 256 * 1024

/** What the `style` elements of a document declare; a sheet may stand behind what it styles. */
export function readSheets(html: string): readonly StyleRule[] {
  if (!/<style[\s/>]/i.test(html)) return []
  const sheets: string[] = []
  let isStyle = false
  let room = maxSheets
  let foreign = 0
  tokenizeHtml(html, {
    open(name, attributes) {
      isStyle = name === 'style' && matchesMedia(attributes.get('media') ?? '')
      if (name === 'svg' || name === 'math') foreign += 1
    },
    close(name) {
      isStyle = false
      if ((name === 'svg' || name === 'math') && foreign > 0) foreign -= 1
    },
    text(text) {
      if (!isStyle || room <= 0) return
      sheets.push(text.slice(0, room).replace(/<!--|-->/g, ' '))
      room -= text.length
    },
    isForeign: () => foreign > 0,
  })
  return parseStyleSheets(sheets, hidesByProperty)
}
