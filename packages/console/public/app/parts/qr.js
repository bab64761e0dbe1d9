import { html } from '../lib/html.js'
import { encodeQr } from '../lib/qr.js'

/** A QR code of an address. @param {{ text: string, label: string }} props */
export function QrCode({ text, label }) {
  const rows = encodeQr(text)
  if (!rows) return null
  const path = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('')
  return html`<svg class="qr" viewBox=${`0 0 ${rows.length} ${rows.length}`} role="img" aria-label=${label} shape-rendering="crispEdges"><path d=${path} fill="#000" /></svg>`
}
