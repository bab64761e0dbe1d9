// Exports the tools of a swarm's till; a refund needs the sender's approval.
import type { ToolDefinition } from '@postern/agents'

const paid: Readonly<Record<string, string>> = { '17': '20.00', '18': '4.50' }

const parameters = {
  type: 'object',
  properties: { order: { type: 'string', description: 'The number of the order' } },
  required: ['order'],
  additionalProperties: false,
} as const

interface Order {
  readonly order: string
}

export const look_up: ToolDefinition = {
  description: 'What was paid for an order',
  parameters,
  run: ({ order }: Order) => ({ paid: paid[order] ?? 'there is no such order' }),
}

/** Refunds an order. Under the tool policy `preview`, the sender sees the preview first, and the money moves only after a yes. */
export const refund: ToolDefinition = {
  description: 'Gives the money for an order back',
  parameters,
  preview: ({ order }: Order) => `Give the ${paid[order] ?? '0.00'} for order ${order} back?`,
  run: ({ order }: Order) => ({ given_back: paid[order] ?? '0.00' }),
}
