import { isoTime } from '@postern/core'
import type { PageMarkup } from '@postern/http'
import { html } from 'hono/html'

export function showTime(ms: number): PageMarkup {
  const iso = isoTime(ms)
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`
}
