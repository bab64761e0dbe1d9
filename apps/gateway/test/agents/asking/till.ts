// Provides the tools of a shop's till. Each records its action in the file that `TILL` names, if it is set.
import { appendFileSync } from 'node:fs'
import type { ToolDefinition } from '@postern/agents'

const order = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] } as const

export const look_up: ToolDefinition = {
  description: 'Looks an order up',
  parameters: order,
  run: ({ order }: { readonly order: string }) => ({ order, paid: '20.00' }),
}

export const refund: ToolDefinition = {
  description: 'Gives the money back',
  parameters: order,
  preview: ({ order }: { readonly order: string }) => `Give 20.00 back for order ${order}?`,
  async run({ order }: { readonly order: string }, { attach }) {
    record(`begun ${order}`)
    const wait = Number(process.env.TILL_WAIT ?? 0)
    if (wait > 0) await new Promise(resolve => setTimeout(resolve, wait))
    record(`done ${order}`)
    if (order === 'receipt') attach(Buffer.from('20.00 back'), { name: 'receipt.txt', mime: 'text/plain' })
    return { refunded: order }
  },
}

export const burn: ToolDefinition = {
  description: 'Burns the money',
  run: () => record('burnt'),
}

function record(line: string): void {
  if (process.env.TILL) appendFileSync(process.env.TILL, `${line}\n`)
}
