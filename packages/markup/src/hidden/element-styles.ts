import type { Declaration } from '../css/declarations.ts'
import { parseDeclarations } from '../css/declarations.ts'
import type { HtmlAttributes } from '../elements/tokenize-html.ts'

/** Properties that decide whether text is seen. */
const ofInterest: ReadonlySet<string> = new Set(
  `display visibility content-visibility opacity filter zoom mso-hide contain white-space font font-size letter-spacing text-indent
  overflow overflow-x overflow-y width max-width height max-height block-size max-block-size inline-size max-inline-size
  position inset left right top bottom margin margin-left margin-top margin-right margin-bottom
  padding padding-left padding-top padding-right padding-bottom
  transform -webkit-transform -ms-transform scale translate rotate clip clip-path -webkit-clip-path
  color -webkit-text-fill-color background background-color background-image background-clip -webkit-background-clip`.split(
    /\s+/,
  ),
)

export function hidesByProperty(name: string): boolean {
  return ofInterest.has(name) || name.startsWith('--')
}

/** What an element is without any style, as browsers have it (HTML §15.3); a style overrides it. */
export function listOwnStyles(name: string, attributes: HtmlAttributes): readonly Declaration[] {
  const declared: (readonly [string, string | undefined])[] = [
    [
      'display',
      attributes.has('hidden') || attributes.has('popover') || isClosedDialog(name, attributes) ? 'none' : undefined,
    ],
    ['content-visibility', attributes.get('hidden') === 'until-found' ? 'hidden' : undefined],
    ['background-color', attributes.get('bgcolor')],
    ['background-image', attributes.has('background') ? 'url()' : undefined],
    ['color', name === 'font' ? attributes.get('color') : undefined],
    ['color', name === 'body' ? attributes.get('text') : undefined],
    ['color', name === 'a' && attributes.has('href') ? '#0000ee' : undefined],
    ['white-space', name === 'pre' ? 'pre' : undefined],
  ]
  return declared.flatMap(([property, value]) =>
    value === undefined ? [] : [{ name: property, value: value.toLowerCase(), isImportant: false }],
  )
}

function isClosedDialog(name: string, attributes: HtmlAttributes): boolean {
  return name === 'dialog' && !attributes.has('open')
}

/** Of the `style` attribute. */
export function listInlineStyles(attributes: HtmlAttributes): readonly Declaration[] {
  const style = attributes.get('style')
  return style ? parseDeclarations(style).filter(({ name }) => hidesByProperty(name)) : []
}
