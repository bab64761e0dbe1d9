import { isoTime } from '@postern/core'
import { html } from 'hono/html'

export type Markup = ReturnType<typeof html>

export function showTime(ms: number): Markup {
  const iso = isoTime(ms)
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`
}
