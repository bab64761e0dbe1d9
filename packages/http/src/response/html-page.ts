import { createHash } from 'node:crypto'
import { html, raw } from 'hono/html'
import { pageStyle } from './page-style.ts'

/** HTML whose inserted values are all escaped. */
export type PageMarkup = ReturnType<typeof html>

interface HtmlPage {
  readonly title: string
  /** BCP 47; default: `en`. */
  readonly language?: string | undefined
  /** More elements of the head. */
  readonly head?: PageMarkup | undefined
  readonly body: PageMarkup
  /** The address of the page's icon; default: the gateway's. */
  readonly icon?: string | undefined
  /** Whether search engines may list it; default: no. */
  readonly isIndexable?: boolean | undefined
}

/** The path of the gateway's own icon. */
export const faviconPath = '/favicon.svg'

export const favicon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#1f5fbf"/><path d="M9 26V6m0 1h12l-3 4 3 4H9" fill="none" stroke="#fff" stroke-width="3" stroke-linejoin="round" stroke-linecap="round"/></svg>`

/** A public page for people. It runs no script and looks the same everywhere. */
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

/** The page's permissions: its own style, and pictures of the gateway and of the origins in `pictures`. No script runs. */
export function htmlPageHeaders(pictures: readonly (string | undefined)[] = []): Readonly<Record<string, string>> {
  const origins = pictures.flatMap(url => (url && URL.canParse(url) ? new URL(url).origin : []))
  const media = [...new Set(["'self'", ...origins.filter(origin => /^https?:/.test(origin))])].join(' ')
  return {
    'content-security-policy': `default-src 'none'; script-src 'none'; style-src 'sha256-${styleHash}'; img-src ${media}; media-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'`,
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  }
}
