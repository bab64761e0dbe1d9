// Defines small tools, some of which fail, never end or return too much.
import { createHash } from 'node:crypto'
import type { ToolContext } from '../../src/index.ts'

export const look = {
  description: 'Looks around',
  parameters: {
    type: 'object',
    properties: { where: { type: 'string' } },
    required: ['where'],
    additionalProperties: false,
  },
  run: ({ where }: { readonly where: string }) => ({ found: `nothing in ${where}` }),
}

export const hash_attachment = {
  description: 'SHA-256 of the attachment',
  async run(_args: unknown, { message, attachment }: ToolContext) {
    const file = message.parts.find(part => part.kind === 'file')
    const { bytes } = await attachment(file as NonNullable<typeof file>)
    return createHash('sha256').update(bytes).digest('hex')
  },
}

export const remember = {
  description: 'Keeps something',
  parameters: { type: 'object', properties: { what: { type: 'string' } } },
  run({ what }: { readonly what: string }, { state }: ToolContext) {
    state.set({ what })
    return 'kept'
  },
}

export const recall = {
  description: 'What was kept',
  run: async (_args: unknown, { state }: ToolContext) => ((await state.get()) as { what?: string })?.what ?? 'nothing',
}

export const explode = {
  description: 'Fails',
  run() {
    throw new Error('correct-horse-battery-staple')
  },
}

export const wait = {
  description: 'Never ends, and does not listen',
  run: () => new Promise(() => {}),
}

export const boast = {
  description: 'Returns too much',
  closed: 0,
  run: () => 'x'.repeat(200_000),
}

export function close(): void {
  boast.closed += 1
}
