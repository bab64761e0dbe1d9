import type { ToolDefinition } from '@postern/agents'
import { plainTextOf } from '@postern/core'

interface Task {
  readonly worker: string
  readonly task: string
}

/** What a model that leads others may call. */
export const delegate_all: ToolDefinition = {
  description: 'Asks several agents at the same time',
  parameters: { type: 'object', properties: { tasks: { type: 'array' } }, required: ['tasks'] },
  run: ({ tasks }: { readonly tasks: readonly Task[] }, { call }) =>
    Promise.all(
      tasks.map(async ({ worker, task }) => plainTextOf((await call(worker, task, { broadcast: true })).parts)),
    ),
}

/** What a model that works alone may call. */
export const weigh: ToolDefinition = {
  description: 'Weighs what there is',
  parameters: { type: 'object', properties: { what: { type: 'string' } }, required: ['what'] },
  run: ({ what }: { readonly what: string }) => ({ weighed: what, scale: `the private scale for ${what}` }),
}
