// Tools for the model. Each tool decides for itself what the sender may see, because a model can be talked into anything.
import type { ToolTurnContext } from 'postern'
import { defineTool, readMessageText } from 'postern'
import { writeReceipt } from './receipt.ts'
import type { Order } from './shop.ts'
import { openShop } from './shop.ts'

const shop = openShop()
const order = { type: 'integer', description: 'Number of the order' } as const
const orderOnly = { type: 'object', properties: { order }, required: ['order'], additionalProperties: false } as const

/** Finds an order. Returns undefined unless it is the sender's and the sender has proven their address. */
function findOwnOrder(number: number, { identity, person }: ToolTurnContext): Order | undefined {
  if (!identity.has({ assurance: 'address' })) return undefined
  return shop.findOrder(number, person?.addresses.map(({ address }) => address) ?? [])
}

const noOrder = 'This sender has no such order.'

export const order_status = defineTool({
  description: 'What became of an order of the person who writes',
  parameters: orderOnly,
  run: (args, context) => ({ ...(findOwnOrder(args.order, context) ?? { problem: noOrder }) }),
})

export const receipt = defineTool({
  description: 'Adds the receipt of an order to the answer, as a PDF',
  parameters: orderOnly,
  async run(args, context) {
    const ownOrder = findOwnOrder(args.order, context)
    if (!ownOrder) return noOrder
    context.attach(await writeReceipt(ownOrder), { name: `receipt-${ownOrder.number}.pdf`, mime: 'application/pdf' })
    return 'The receipt is attached.'
  },
})

/** The configuration's policies decide which refunds wait for approval. */
export const refund = defineTool({
  description: 'Gives money for an order back',
  parameters: {
    type: 'object',
    properties: { order, amount: { type: 'number', minimum: 0.01, description: 'Euros' } },
    required: ['order', 'amount'],
    additionalProperties: false,
  },
  preview: args => `Give ${args.amount} euros of order ${args.order} back?`,
  run(args, context) {
    if (!findOwnOrder(args.order, context)) return noOrder
    const { messageNumber = 0 } = context
    const refunded = shop.refundOrder(messageNumber, args.order, args.amount)
    if (refunded === undefined) return 'The order did not cost that much.'
    const total = `Gave ${refunded} euros back for this message.`
    return refunded === args.amount ? total : `${total} It gets nothing more: ask for the rest in another message.`
  },
})

export const repairs = defineTool({
  description: 'The repairs of the person who writes; the workshop knows them',
  parameters: { type: 'object', properties: {}, additionalProperties: false },
  async run(_, { call, message }) {
    const answer = await call('@workshop@shop.example', 'Which repairs does this person have?', { onBehalfOf: message })
    const [list] = answer.parts.flatMap(part => (part.kind === 'artifact' ? [part.data] : []))
    return list ?? readMessageText(answer)
  },
})
