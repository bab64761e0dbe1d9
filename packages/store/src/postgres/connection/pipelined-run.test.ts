import { EventEmitter } from 'node:events'
import type { Connection } from 'pg'
import { expect, test, vi } from 'vitest'
import { createPipelinedRun } from './pipelined-run.ts'

const steps = [1, 2].map(id => ({ statement: { name: `s${id}`, text: 'SELECT 1' }, values: [] }))

function openWire() {
  const stream = { cork() {}, uncork() {}, destroy: vi.fn() }
  const commands = { parse() {}, describe() {}, bind() {}, execute() {}, sync() {} }
  return Object.assign(new EventEmitter(), commands, { stream })
}

/** Completes this number of statements, and then ends the run, as the server does. */
function answer(count: number) {
  const wire = openWire()
  const run = createPipelinedRun(steps, new Map())
  const handlers = run as unknown as Record<string, (message?: unknown) => void>
  run.submit(wire as unknown as Connection)
  for (let at = 0; at < count; at += 1) handlers.handleCommandComplete?.({ text: 'SELECT 0' })
  handlers.handleReadyForQuery?.()
  return { done: run.completion, wire }
}

test('a run succeeds if the server answers each statement', async () => {
  const { done, wire } = answer(2)
  expect(await done).toHaveLength(2)
  expect(wire.stream.destroy).not.toHaveBeenCalled()
})

test.each([1, 3])(
  'a run takes no result from a server that answers %i of two statements, and ends the connection',
  async count => {
    const { done, wire } = answer(count)
    await expect(done).rejects.toMatchObject({
      message: 'the server has sent another number of results than it got statements',
    })
    expect(wire.stream.destroy).toHaveBeenCalled()
  },
)
