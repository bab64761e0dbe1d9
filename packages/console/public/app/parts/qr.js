// Renders a text as a QR code.
import { encode } from '../../vendor/uqr.js'
import { html } from '../lib/html.js'

/** Shows an address as a QR code. @param {{ text: string, label: string }} props */
export function QrCode({ text, label }) {
  const { data: rows, size } = encode(text, { border: 0 })
  const path = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('')
  return html`<svg class="qr" viewBox=${`0 0 ${size} ${size}`} role="img" aria-label=${label} shape-rendering="crispEdges"><path d=${path} fill="#000" /></svg>`
}
