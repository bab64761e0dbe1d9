// Writes the receipt of an order as a PDF.
import { buffer } from 'node:stream/consumers'
import PDFDocument from 'pdfkit'
import type { Order } from './shop.ts'

export async function writeReceipt({ number, item, price, refunded }: Order): Promise<Uint8Array> {
  const page = new PDFDocument({ size: 'A5' })
  page.fontSize(20).text('Bicycle shop').moveDown()
  page
    .fontSize(12)
    .text(`Order ${number}: ${item}`)
    .text(`Paid: ${price.toFixed(2)} euros`)
  if (refunded > 0) page.text(`Given back: ${refunded.toFixed(2)} euros`)
  page.end()
  return buffer(page)
}
