// Renders public pages for people, without scripts and with a strict content security policy.
import { createHash } from 'node:crypto'
import { html, raw } from 'hono/html'

/** The style of all public pages: a readable typeface, one accent colour, and a light or dark scheme by the reader's preference. */
const pageStyle = `:root{color-scheme:light dark;--ink:#1f2328;--soft:#5c646d;--line:#e4e4e0;--paper:#fbfaf8;--card:#fff;--accent:#1f5fbf}
@media(prefers-color-scheme:dark){:root{--ink:#e4e5e7;--soft:#9aa2ab;--line:#2d3238;--paper:#15171a;--card:#1b1e22;--accent:#8ab4f8}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{max-width:38rem;margin:0 auto;padding:2.5rem 1.25rem 4rem}
a{color:var(--accent);text-decoration:none;overflow-wrap:anywhere}a:hover,a:focus-visible{text-decoration:underline}
h1,h2,p{margin:0}h1{font-size:1.6rem;line-height:1.25;font-weight:650;letter-spacing:-.01em;overflow-wrap:anywhere}
h2{margin:2.75rem 0 .75rem;font-size:.8rem;font-weight:600;letter-spacing:.07em;text-transform:uppercase;color:var(--soft)}main>h2:first-child{margin-top:0}
code{font:.92em ui-monospace,"SF Mono",Menlo,Consolas,monospace;overflow-wrap:anywhere}
.handle,time,.meta,footer{color:var(--soft);font-size:.9rem}.meta a,footer a{color:inherit;text-decoration:underline;text-decoration-color:var(--line);text-underline-offset:.2em}
.who{display:flex;gap:1rem;align-items:center}.who img{width:4.5rem;height:4.5rem;border-radius:1.1rem;object-fit:cover;flex:none}.who.small img{width:2.5rem;height:2.5rem;border-radius:.7rem}.who.small{gap:.75rem}
.who strong{font-weight:650;color:var(--ink)}.who>div{min-width:0}.who .handle{display:block;overflow-wrap:anywhere}
.words{font:1.06rem/1.65 Charter,"Bitstream Charter","Iowan Old Style","Source Serif 4",Cambria,"Noto Serif",Georgia,serif;overflow-wrap:anywhere}
.words>*{margin:.8em 0 0}.words>:first-child{margin-top:0}.words ul,.words ol{padding-left:1.4em}.words h1,.words h2,.words h3,.words h4,.words h5,.words h6{font:inherit;font-weight:650;letter-spacing:0;text-transform:none;color:inherit}
.words blockquote{margin-left:0;padding-left:1em;border-left:3px solid var(--line);color:var(--soft)}
.words pre{padding:.8em 1em;background:var(--paper);border:1px solid var(--line);border-radius:.5rem;overflow-x:auto;line-height:1.45}.words pre code{overflow-wrap:normal}
.bio{margin-top:1.25rem}dl{display:grid;align-items:baseline;grid-template-columns:minmax(5rem,auto) 1fr;gap:.4rem 1.25rem;margin:1.5rem 0 0;padding:1rem 0 0;border-top:1px solid var(--line)}dt{color:var(--soft);font-size:.9rem}dd{margin:0;min-width:0;overflow-wrap:anywhere}
article{background:var(--card);border:1px solid var(--line);border-radius:.9rem;padding:1.25rem 1.4rem;margin-top:1rem}
article .meta{margin-top:.9rem}article .meta:first-child{margin:0 0 .5rem}article .who+.words,article .who+details{margin-top:1rem}
article.focus{border-color:var(--accent)}article.focus .words{font-size:1.2rem;line-height:1.6}
article.near{background:none}article.near .words{font-size:1rem}
article img.media,article video,article audio{display:block;max-width:100%;height:auto;margin-top:1rem;border-radius:.6rem}
summary{cursor:pointer;color:var(--soft)}details[open] summary{margin-bottom:.8rem}
.ways{margin:0;padding:0;list-style:none}.ways li{padding:.55rem 0;border-top:1px solid var(--line)}.ways li:first-child{border-top:0}
footer{margin-top:3rem;padding-top:1rem;border-top:1px solid var(--line)}
@media(max-width:26rem){main{padding:1.5rem 1rem 3rem}article{padding:1rem 1.1rem}dl{grid-template-columns:1fr;gap:.1rem}dd{margin-bottom:.6rem}.who img{width:3.5rem;height:3.5rem}}`

/** HTML whose inserted values are all escaped. */
export type PageMarkup = ReturnType<typeof html>

interface HtmlPage {
  readonly title: string
  /** The language of the page (BCP 47). The default is `en`. */
  readonly language?: string | undefined
  /** Further elements of the head. */
  readonly head?: PageMarkup | undefined
  readonly body: PageMarkup
  /** The address of the page's icon. The default is the gateway's icon. */
  readonly icon?: string | undefined
  /** True if search engines may list the page. The default is false. */
  readonly isIndexable?: boolean | undefined
}

/** The path of the gateway's own icon. */
export const faviconPath = '/favicon.svg'

export const favicon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#1f5fbf"/><path d="M9 26V6m0 1h12l-3 4 3 4H9" fill="none" stroke="#fff" stroke-width="3" stroke-linejoin="round" stroke-linecap="round"/></svg>`

/** Renders a public page for people. All pages run no script and look the same. */
export function renderHtmlPage({ title, language = 'en', head, body, icon, isIndexable }: HtmlPage): PageMarkup {
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${isIndexable ? '' : html`<meta name="robots" content="noindex">`}
<title>${title}</title>
<link rel="icon" href="${icon ?? faviconPath}">
${head ?? ''}
<style>${raw(pageStyle)}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>`
}

const styleHash = createHash('sha256').update(pageStyle).digest('base64')

/** Returns the headers of a page. They allow its own style, and pictures of the gateway and of the origins in `pictureUrls`, but no script. */
export function htmlPageHeaders(pictureUrls: readonly (string | undefined)[] = []): Readonly<Record<string, string>> {
  const origins = pictureUrls.flatMap(url => (url && URL.canParse(url) ? new URL(url).origin : []))
  const mediaSources = [...new Set(["'self'", ...origins.filter(origin => /^https?:/.test(origin))])].join(' ')
  return {
    'content-security-policy': `default-src 'none'; script-src 'none'; style-src 'sha256-${styleHash}'; img-src ${mediaSources}; media-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'`,
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  }
}
