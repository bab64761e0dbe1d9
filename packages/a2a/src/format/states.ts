import type { TaskState } from '@postern/core'

/** Our states by their names on the wire (A2A §4.1.3). */
const byState: Readonly<Record<TaskState, string>> = {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELED',
  rejected: 'TASK_STATE_REJECTED',
  input_required: 'TASK_STATE_INPUT_REQUIRED',
  auth_required: 'TASK_STATE_AUTH_REQUIRED',
}

/** Every state a client may ask for. */
export const wireStates: readonly string[] = Object.values(byState)

/** The unspecified state: by name, by number (as text in a query), or absent. */
export const zeroStates: readonly unknown[] = ['TASK_STATE_UNSPECIFIED', 0, '0', '']

const terminal: ReadonlySet<TaskState> = new Set(['completed', 'failed', 'canceled', 'rejected'])

export function toWireState(state: TaskState): string {
  return byState[state]
}

/** The state of ours with this wire name, if there is one. */
export function fromWireState(name: string): TaskState | undefined {
  return (Object.keys(byState) as TaskState[]).find(state => byState[state] === name)
}

export function isTerminal(state: TaskState): boolean {
  return terminal.has(state)
}

/** Terminal or waiting for the client. A blocking call ends here (A2A §3.2.2). */
export function isAtRest(state: TaskState): boolean {
  return terminal.has(state) || state === 'input_required' || state === 'auth_required'
}

/** The same for a state's name on the wire. */
export function isWireStateAtRest(name: string): boolean {
  const state = fromWireState(name)
  return state !== undefined && isAtRest(state)
}
