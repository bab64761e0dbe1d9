import { describe, expect, test } from 'vitest'
import { htmlToText } from './html-to-text.ts'

/** Puts text that a reader does not see between two words that a reader sees. */
const wrapText = (attribute: string, name = 'div') =>
  `<p>before</p><${name} ${attribute}>secret <b>words</b></${name}><p>after</p>`

const styles = [
  'display:none',
  'display: none !important',
  'DISPLAY : NONE',
  'dis/**/play:none; display:/* x */none',
  '\\64isplay:n\\6f ne',
  'color:red;display:none;display:nonsense/* a later one that browsers drop */;display:none',
  'visibility:hidden',
  'visibility:collapse',
  'content-visibility:hidden',
  'opacity:0',
  'opacity:0%',
  'opacity:.01',
  'filter:opacity(0)',
  'filter:alpha(opacity=0)',
  'font-size:0',
  'font-size:0px',
  'font-size:1px',
  'font-size:.1em',
  'font-size:2pt',
  'font-size:calc(1px - 1px)',
  'font-size:min(0px, 3em)',
  'font:0/0 a',
  'font:italic 1px Georgia',
  'zoom:0.01',
  'mso-hide:all',
  'height:0;overflow:hidden',
  'max-height:0;overflow:hidden',
  'max-height:1px;overflow-y:clip',
  'width:0;overflow:hidden',
  'max-width:0px;overflow:auto;white-space:nowrap',
  'height:calc(0px);overflow:hidden',
  'position:absolute;left:-9999px',
  'position:absolute;left:-999em',
  'position:fixed;top:-100vh',
  'position:absolute;top:-1000px',
  'position:absolute;right:-5000px',
  'position:absolute;right:9999px',
  'position:absolute;inset:-9999px auto auto -9999px',
  'position:relative;left:-3000px',
  'margin-left:-9999px',
  'margin:-9999px 0 0 0',
  'margin-top:-1000px',
  'text-indent:-9999px',
  'text-indent:-100vw',
  'text-indent:100000px;overflow:hidden',
  'letter-spacing:-1em',
  'transform:scale(0)',
  'transform:scale(0.01)',
  'transform:scaleY(0)',
  '-webkit-transform:scale(0, 1)',
  'transform:matrix(0,0,0,0,0,0)',
  'transform:translateX(-9999px)',
  'transform:translate(-200vw, 0)',
  'transform:rotateX(90deg)',
  'transform:rotateY(.25turn)',
  'scale:0',
  'translate:-9999px',
  'clip:rect(0,0,0,0);position:absolute',
  'clip:rect(1px, 1px, 1px, 1px);position:absolute',
  'clip:rect(0 0 0 0)',
  'clip-path:inset(50%)',
  'clip-path:inset(100%)',
  'clip-path:inset(0 0 100% 0)',
  'clip-path:circle(0)',
  'clip-path:circle(0px at 50% 50%)',
  'clip-path:ellipse(0 50%)',
  'clip-path:polygon(0 0, 0 0, 0 0)',
  'clip-path:polygon(0 0, 100% 0)',
  'color:white',
  'color:#fff',
  'color:#FEFEFE',
  'color:rgb(255,255,255)',
  'color:rgb(100% 100% 100%)',
  'color:hsl(0, 0%, 100%)',
  'color:hwb(0 100% 0%)',
  'color:transparent',
  'color:rgba(0,0,0,0)',
  'color:#0000',
  'color:rgb(0 0 0 / 1%)',
  'color:snow',
  'color:oklch(1 0 0)',
  'color:lab(100% 0 0)',
  'color:color(srgb 1 1 1)',
  'color:light-dark(white, black)',
  'color:color-mix(in srgb, white, snow)',
  'filter:blur(40px)',
  'text-indent:100%;white-space:nowrap;overflow:hidden',
  '-webkit-text-fill-color:transparent',
  'background:#000',
  'color:#123456;background-color:#123457',
  'color:navy;background:no-repeat navy',
  'color:#fff;background:linear-gradient(white, #fefefe)',
  '--x:none;display:var(--x)',
  'display:var(--y, none)',
]

describe('the reader removes invisible text and reports it', () => {
  test.each(styles)('by the style %s', style => {
    expect(htmlToText(wrapText(`style="${style}"`))).toEqual({ text: 'before\n\nafter', hasHidden: true })
  })

  test.each(styles)('by a style sheet with %s (EM-58)', style => {
    const sheet = `<style>p{margin:0} .a, .s { ${style} }</style>`
    expect(htmlToText(sheet + wrapText('class="x s"'))).toEqual({
      text: 'before\n\nafter',
      hasHidden: true,
    })
  })

  test.each([
    ['the attribute hidden', 'hidden', 'div'],
    ['hidden until found', 'hidden="until-found"', 'div'],
    ['a popover', 'popover', 'div'],
    ['a closed dialog', '', 'dialog'],
    ['a closed box', '', 'details'],
    ['the colour of a font', 'color="white"', 'font'],
    ['the colour of a font without a mark', 'color=FFFFFF', 'font'],
    ['the colour behind it', 'bgcolor="#000000"', 'div'],
  ])('by %s', (_, attribute, name) => {
    expect(htmlToText(wrapText(attribute, name))).toEqual({ text: 'before\n\nafter', hasHidden: true })
  })

  test.each([
    ['of an outer element', '<div style="color:#fff"><div><p>secret</p></div></div>'],
    [
      'of the page',
      '<body bgcolor="#222" text="#ffffff"><p>before</p><p><font color="#222222">secret</font></p></body>',
    ],
    ['over several elements', '<p style="opacity:.2"><b style="opacity:.2">secret</b></p>'],
    ['of sizes of sizes', '<p style="font-size:30%"><b style="font-size:30%">secret</b></p>'],
    ['of a box without room in one that cuts', '<div style="overflow:hidden"><div style="height:0">secret</div></div>'],
    [
      'of what is moved bit by bit',
      '<div style="margin-left:-150px"><div style="margin-left:-150px">secret</div></div>',
    ],
    [
      'of an element that a wrong end tag does not end',
      '<div style="display:none"><table><tr><td></div>secret</td></tr></table></div>',
    ],
    ['of a format that goes on behind its block', '<div><font color="white">x</div>secret</font>'],
    ['of a block that an early end tag does not end', '<b><div hidden></b>secret</div>'],
    [
      'of all but the first summary',
      '<details><div><summary>secret</summary></div><summary>Seen</summary><summary>secret</summary></details>',
    ],
    ['of a self-closed element', '<div hidden/>secret</div>'],
  ])('by the style %s', (_, html) => {
    const read = htmlToText(html)
    expect(read.text).not.toContain('secret')
    expect(read.hasHidden).toBe(true)
  })
})

describe('a style sheet hides', () => {
  test.each([
    ['by an id', '<style>@import url(x); #s { display:none }</style>', 'id="s"'],
    ['by a name', '<style>div{display:none}</style>', ''],
    ['by an attribute', '<style>[data-x^="a"]{display:none}</style>', 'data-x="abc"'],
    ['by two classes', '<style>.a.b{display:none}</style>', 'class="b c a"'],
    ['by what it stands behind', '<style>p + div{display:none}</style>', ''],
    ['by what stands before it', '<style>p ~ div{display:none}</style>', ''],
    ['by its position', '<style>:nth-child(2){display:none}</style>', ''],
    ['by what it is not', '<style>div:not(p):not(.x){display:none}</style>', ''],
    ['on screens', '<style>@media screen and (min-width: 400px) { .s { display:none } }</style>', 'class="s"'],
    ['where a feature is known', '<style>@supports (display:block) { .s{display:none} }</style>', 'class="s"'],
    ['from behind', '', 'class="late"'],
    ['in a page that names no body', '<style>body > div, html > p > b{display:none}</style>', ''],
    ['with the stronger of two rules', '<style>div.s{display:none} .s{display:block}</style>', 'class="s"'],
    ['with the later of two rules', '<style>.s{display:block} .s{display:none}</style>', 'class="s"'],
    ['against the element’s own style', '<style>.s{display:none!important}</style>', 'class="s" style="display:block"'],
    ['without an end', '<style>.s{display:none</style>', 'class="s"'],
    ['in a picture, as CDATA', '<svg><style><![CDATA[.s{display:none}]]></style></svg>', 'class="s"'],
    ['in a comment of old', '<style><!-- .s{display:none} --></style>', 'class="s"'],
  ])('%s', (_, sheet, attribute) => {
    const html = `${sheet}${wrapText(attribute)}<style>.late{display:none}</style>`
    expect(htmlToText(html)).toEqual({ text: 'before\n\nafter', hasHidden: true })
  })

  test.each([
    ['on small screens only', '<style>@media (max-width: 600px) { .s { display: none } }</style>'],
    ['on paper only', '<style media="print">.s{display:none}</style><style>@media print{.s{display:none}}</style>'],
    ['in the dark only', '<style>@media (prefers-color-scheme: dark) { .s { color:#fff } }</style>'],
    ['in another program', '<!--[if mso]><style>.s{display:none}</style><![endif]-->'],
    ['elsewhere', '<style>.x .s, .x > .s, .s.x, #s, b.s, .s:hover, .s::before, .S {display:none}</style>'],
    ['and is overruled by the element', '<style>.s{display:none}</style><style>p{}</style>', 'style="display:block"'],
    ['and is overruled by a later rule', '<style>.s{display:none} div.s{display:block}</style>'],
  ])('no element beyond its own by %s', (_, sheet, attribute = '') => {
    expect(htmlToText(`${sheet}<div class="s" ${attribute}>Seen</div>`)).toEqual({
      text: 'Seen',
      hasHidden: false,
    })
  })

  test('a whole page by its body, with or without a name', () => {
    const sheet = '<style>body{color:#fff}</style>'
    for (const html of [`${sheet}<p>secret</p>`, `<html><head>${sheet}</head><body><p>secret</p></body></html>`])
      expect(htmlToText(html)).toEqual({ text: '', hasHidden: true })
  })

  test('only a body that browsers create', () => {
    const html = '<style>.x{color:red}</style><div hidden><body><html>secret</div>Seen'
    expect(htmlToText(html)).toEqual({ text: 'Seen', hasHidden: true })
  })

  test('no page that has relative sizes twice', () => {
    const html = '<style>html{font-size:50%} body{font-size:70%}</style><html><body><p>Seen</p></body></html>'
    expect(htmlToText(html)).toEqual({ text: 'Seen', hasHidden: false })
  })

  test('possibly text as pale as the page behind a picture, which the reader keeps and reports', () => {
    const html = '<p style="background:url(https://x.test/a.png);color:#fff">Perhaps</p>'
    expect(htmlToText(html)).toEqual({ text: 'Perhaps', hasHidden: true })
  })

  test('possibly text that depends on later text, which the reader keeps and reports', () => {
    const html = '<style>p:last-child{display:none}</style><p>Seen</p><p>Perhaps</p>'
    expect(htmlToText(html)).toEqual({ text: 'Seen\n\nPerhaps', hasHidden: true })
  })

  test('possibly text if evaluating it costs too much, which the reader reports', () => {
    const sheet = Array.from({ length: 3000 }, () => 'b b b b b b i{display:none}').join('')
    const html = `<style>${sheet}</style>${'<b>'.repeat(200)}${'<i>x</i>'.repeat(200)}`
    expect(htmlToText(html).hasHidden).toBe(true)
  })

  test('possibly text if it is too long to evaluate, which the reader reports', () => {
    const sheet = `${'b i{color:#333}'.repeat(3000)}.s{display:none}`
    const html = `<style>${sheet}</style><b>${'<i>x</i>'.repeat(300)}</b><p class="s">y</p>`
    expect(htmlToText(html).hasHidden).toBe(true)
  })
})

describe('visible text remains', () => {
  test.each([
    ['a size set back', '<td style="font-size:0"><div style="font-size:14px">Seen</div></td>'],
    ['a visibility set back', '<div style="visibility:hidden"><p style="visibility:visible">Seen</p></div>'],
    ['white on a dark ground', '<table bgcolor="#1a1a2e"><tr><td style="color:#fff">Seen</td></tr></table>'],
    [
      'white on a dark picture',
      '<div style="background:#123 url(https://x.test/a.png)"><p style="color:white">Seen</p></div>',
    ],
    [
      'white on a gradient',
      '<div style="color:#fff;background:linear-gradient(90deg, #000 0%, rgb(20,20,60) 100%)">Seen</div>',
    ],
    [
      'a link on white in a white text',
      '<div style="background:#345;color:white"><a href="https://x.test/" style="color:#eef">https://x.test/</a></div>',
    ],
    ['a hanging indent', '<p style="margin-left:200px;text-indent:-180px">Seen</p>'],
    ['a box in the middle', '<div style="position:absolute;left:50%;margin-left:-300px">Seen</div>'],
    ['a box with room', '<div style="height:200px;overflow:hidden">Seen</div>'],
    ['a flat box that lets its text out', '<div style="height:0">Seen</div>'],
    ['a cell that grows', '<div style="overflow:hidden"><table><tr><td style="width:1px">Seen</td></tr></table></div>'],
    ['a paragraph behind a hidden one without an end', '<p hidden></p><p>Seen</p>'],
    ['a paragraph that ends a hidden one', '<p hidden><p>Seen</p>'],
    ['an item behind a hidden one', '<li hidden><li>Seen'],
    ['an open box', '<details open>Seen</details>'],
    ['hidden and shown again by its style', '<div hidden style="display:block">Seen</div>'],
    ['clipped by nothing', '<div style="clip:auto;clip-path:none;transform:none;overflow:hidden">Seen</div>'],
    ['moved a little', '<div style="position:relative;left:-20px;top:-5px;margin:-10px">Seen</div>'],
    ['a class that only sounds so', '<p class="hidden invisible">Seen</p>'],
    ['grey', '<p style="color:#888">Seen</p>'],
    ['a colour from a variable', '<body style="--fg:#333"><p style="color:var(--fg)">Seen</p></body>'],
  ])('%s', (_, html) => {
    const read = htmlToText(html)
    expect(read.text.replace(/^- |https:\/\/x\.test\//g, match => (match === '- ' ? '' : 'Seen'))).toBe('Seen')
    expect(read.hasHidden).toBe(false)
  })
})

test('htmlToText() reads a style alike in every document, also after a thousand other styles', () => {
  const hiddenByParent = '<div style="color:#fff"><p style="background:#fff">a</p></div>'
  const shown = '<div style="color:#000"><p style="background:#fff">b</p></div>'
  const manyStyles = Array.from({ length: 1100 }, (_, at) => `<p style="width:${at}px">c</p>`).join('')
  for (const html of [hiddenByParent, shown, manyStyles, shown, hiddenByParent])
    expect(htmlToText(html).hasHidden).toBe(html === hiddenByParent)
})
