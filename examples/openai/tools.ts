// Exports a tool for an agent of the kind `openai`.
import type { ToolDefinition } from '@postern/agents'

const hours: Readonly<Record<string, string>> = { saturday: 'ten to two', sunday: 'closed' }

/** Every export is a tool; its name is what the model calls. */
export const opening_hours: ToolDefinition = {
  description: 'When the shop is open on a day of the week',
  parameters: {
    type: 'object',
    properties: { day: { type: 'string', description: 'In English, such as "Monday"' } },
    required: ['day'],
    additionalProperties: false,
  },
  run: ({ day }: { readonly day: string }) => ({ open: hours[day.toLowerCase()] ?? 'nine to six' }),
}
