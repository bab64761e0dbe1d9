// Provides tools that store as much as the message asks for, and report the outcome.
import type { ToolDefinition } from '@postern/agents'
import { Rejection } from '@postern/message'

interface ItemArguments {
  readonly name: string
  readonly id?: string
  readonly words?: string
  readonly length?: number
}

const parameters = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    id: { type: 'string' },
    words: { type: 'string' },
    length: { type: 'number' },
  },
  required: ['name'],
} as const

const wordsOf = ({ words = 'x', length }: ItemArguments) => (length === undefined ? words : words.repeat(length))

export const set_state: ToolDefinition = {
  description: 'Sets a state',
  parameters,
  run: (item: ItemArguments, { swarm }) => reportOutcome(async () => swarm?.state(item.name).set(wordsOf(item))),
}

export const put_item: ToolDefinition = {
  description: 'Puts an item into a storage',
  parameters,
  run: (item: ItemArguments, { swarm }) =>
    reportOutcome(async () => swarm?.storage(item.name).upsert({ id: String(item.id), words: wordsOf(item) })),
}

export const remove_item: ToolDefinition = {
  description: 'Takes an item out of a storage',
  parameters,
  run: (item: ItemArguments, { swarm }) => reportOutcome(async () => swarm?.storage(item.name).remove(String(item.id))),
}

export const remember: ToolDefinition = {
  description: 'Keeps words for the conversation',
  parameters,
  run: (item: ItemArguments, { state }) => reportOutcome(async () => state.set(wordsOf(item))),
}

export const tell_all: ToolDefinition = {
  description: 'What there is',
  parameters,
  async run({ name }: ItemArguments, { swarm }) {
    const items = await swarm?.storage(name).list()
    return ['all:', ...(items ?? []).map(({ id }) => id)].join(' ')
  },
}

export const tell_state: ToolDefinition = {
  description: 'What a state is',
  parameters,
  run: async ({ name }: ItemArguments, { swarm }) => String(await swarm?.state(name).get()).slice(0, 100),
}

async function reportOutcome(operation: () => Promise<unknown>): Promise<string> {
  try {
    await operation()
    return 'kept'
  } catch (error) {
    if (error instanceof Rejection) return `${error.code}: ${error.message}`
    throw error
  }
}
