// Provides tools that keep items in a swarm's states and storages.
import type { ToolDefinition } from '@postern/agents'
import { picture } from '../../swarm/picture.ts'

export type Basket = { readonly items: readonly string[] }

export const put: ToolDefinition = {
  description: 'Puts something into the basket',
  parameters: { type: 'object', properties: { item: { type: 'string' } }, required: ['item'] },
  async run({ item }: { readonly item: string }, { swarm }) {
    await swarm?.state<Basket>('basket').set(({ items }) => ({ items: [...items, item] }))
    await swarm?.state<number>('sold').set(sold => sold + 1)
    await swarm?.storage('log').upsert({ id: item, put: true })
    await swarm?.storage('shelves').upsert({ id: item })
    return readBasket(swarm)
  },
}

export const show_basket: ToolDefinition = {
  description: 'What is in the basket',
  run: (_, { swarm }) => readBasket(swarm),
}

export const sum_up: ToolDefinition = {
  description: 'Says it in few words',
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  run: ({ text }: { readonly text: string }, { swarm }) => swarm?.runStateless(text),
}

export const photo: ToolDefinition = {
  description: 'Shows the basket',
  run(_, { attach }) {
    attach(Buffer.from(picture, 'base64'), { name: 'basket.png' })
    return 'shown'
  },
}

async function readBasket(swarm: Parameters<ToolDefinition['run']>[1]['swarm']) {
  const idsOf = async (name: string) => (await swarm?.storage(name).list())?.map(({ id }) => id).join(' ')
  return {
    items: (await swarm?.state<Basket>('basket').get())?.items.join(' '),
    sold: await swarm?.state('sold').get(),
    log: await idsOf('log'),
    shelves: await idsOf('shelves'),
    total: await swarm?.compute('total').get(),
  }
}
