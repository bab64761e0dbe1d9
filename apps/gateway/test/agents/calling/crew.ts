// Provides the tools of models that lead other agents or work alone.
import type { ToolDefinition } from '@postern/agents'
import { plainTextOf } from '@postern/message'

interface Task {
  readonly worker: string
  readonly task: string
}

/** The tool of a model that leads other agents. */
export const delegate_all: ToolDefinition = {
  description: 'Asks several agents at the same time',
  parameters: { type: 'object', properties: { tasks: { type: 'array' } }, required: ['tasks'] },
  run: ({ tasks }: { readonly tasks: readonly Task[] }, { call }) =>
    Promise.all(
      tasks.map(async ({ worker, task }) => plainTextOf((await call(worker, task, { broadcast: true })).parts)),
    ),
}

/** The tool of a model that works alone. */
export const weigh: ToolDefinition = {
  description: 'Weighs what there is',
  parameters: { type: 'object', properties: { what: { type: 'string' } }, required: ['what'] },
  run: ({ what }: { readonly what: string }) => ({ weighed: what, scale: `the private scale for ${what}` }),
}
