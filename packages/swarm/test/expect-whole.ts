// Checks the members of an event of the bus.
import { expect } from 'vitest'
import type { BusEvent } from '../src/index.ts'

/** Checks all six fields of an event (W-10), with the agent and the client. */
export function expectWhole({ payload: _, ...event }: BusEvent, clientId: string): void {
  expect(event).toEqual({
    type: expect.any(String),
    source: expect.any(String),
    input: expect.any(Object),
    output: expect.any(Object),
    context: expect.objectContaining({ agentName: expect.any(String), swarmName: 'desk' }),
    clientId,
  })
}
