import type { EntryChange, NormalizedMessage, Part } from '@postern/message'
import { noLog, plainTextOf } from '@postern/message'
import { describe, expect, test, vi } from 'vitest'
import { createGate, createQuietSystem, turn } from '../../test/memory-store.ts'
import { expectNeutralFailure, neverAbortedSignal, openTurnBench, runTurnOf } from '../../test/turn-bench.ts'
import type { AgentChunk } from '../ports/agent/agent.ts'
import type { Turn } from '../ports/records/work/turn.ts'
import { runTurn } from './turn.ts'

describe('runTurn(), for its agent,', () => {
  test('reports every streamed chunk in order, before it commits the answer', async () => {
    const chunks: string[] = []
    const { memory, turnContext } = openTurnBench(async function* (): AsyncGenerator<AgentChunk> {
      yield 'one, '
      yield 'two'
    })
    memory.store.listen('message:1', notice => {
      const { chunk } = notice as { chunk: { parts: { content: string }[] } }
      chunks.push(`${chunk.parts[0]?.content}${memory.commits.length}`)
    })
    await runTurn(turn(1), turnContext, neverAbortedSignal)
    expect(chunks).toEqual(['one, 0', 'two0'])
    expect(memory.commits[0]?.answer.response?.parts).toMatchObject([{ content: 'one, two' }])
  })

  test('reports no chunk after the deadline, and ends the stream', async () => {
    const lateGate = createGate()
    const endGate = createGate()
    const { memory, turnContext } = openTurnBench(
      async function* () {
        try {
          await lateGate.opened
          yield 'too late'
        } finally {
          endGate.open()
        }
      },
      { deadlineMs: 10 },
    )
    const onChunk = vi.fn()
    memory.store.listen('message:1', onChunk)
    await runTurn(turn(1), turnContext, neverAbortedSignal)
    lateGate.open()
    await endGate.opened
    expect(onChunk).not.toHaveBeenCalled()
  })

  test('commits the state with the answer', async () => {
    const answer = await runTurnOf((_message, { state }) => {
      state.set({ colour: 'blue' })
      return 'done'
    })
    expect(answer?.state).toEqual({ colour: 'blue' })
  })

  test('commits no state with a failure', async () => {
    const answer = await runTurnOf((_message, { state }) => {
      state.set({ colour: 'blue' })
      throw new Error('broken')
    })
    expectNeutralFailure(answer)
    expect(answer?.state).toBeUndefined()
  })

  test('returns the state of this turn instead of the previous turn’s', async () => {
    const { memory, turnContext } = openTurnBench(async (_message, { state }) => {
      const initialState = await state.get()
      state.set(null)
      return JSON.stringify([initialState, await state.get()])
    })
    vi.spyOn(memory.store, 'readState').mockResolvedValue('stored')
    await runTurn(turn(1), turnContext, neverAbortedSignal)
    expect(memory.commits[0]?.answer.response?.parts).toMatchObject([{ content: '["stored",null]' }])
  })

  test('makes the names and values of a state well-formed', async () => {
    const answer = await runTurnOf(async (_message, { state }) => {
      state.set({ 'a\ud83d': ['\ude00'] })
      return 'ok'
    })
    expect(answer?.state).toEqual({ 'a\ufffd': ['\ufffd'] })
  })

  test('gives the agent its history, readable parts, attachments and a log with the message’s id', async () => {
    const info = vi.fn()
    let receivedMessage: NormalizedMessage | undefined
    const { memory, turnContext } = openTurnBench(
      async (message, { history, attachment, log, correlationId }) => {
        receivedMessage = message
        log.info({ step: 1 }, 'working')
        const { bytes } = await attachment({ kind: 'file', bytes_ref: { kind: 'inline', data_base64: 'AQ==' } })
        return JSON.stringify([correlationId, history().turns.length, history().cacheBreakpointAfter, bytes.length])
      },
      { presentParts: () => [{ kind: 'link', url: 'https://agents.test/signed' }] },
    )
    vi.spyOn(memory.store, 'readHistory').mockImplementation(async ({ thread, beforeMessage: before, head, tail }) => {
      expect({ thread, before, head, tail }).toEqual({ thread: 1, before: 1, head: 9, tail: 80 })
      return ['user', 'assistant', 'user', 'assistant'].map((role, seq) => ({
        seq,
        entryId: `e${seq}`,
        role: role as 'user',
        author: { address: '@alice@peer.test' },
        parts: [{ kind: 'text', mime: 'text/plain', content: role }],
        at: '2026-01-01T00:00:00.000Z',
      }))
    })
    const asked = turn(1)
    const file = { kind: 'file', bytes_ref: { kind: 'url', url: 'https://peer.test/a.png' } } as const
    const withFile = { ...asked, content: { ...asked.content, parts: [...asked.content.parts, file] } }
    await runTurn(
      withFile,
      { ...turnContext, system: createQuietSystem({ log: { ...noLog, info } }) },
      neverAbortedSignal,
    )
    expect(memory.commits[0]?.answer.response?.parts).toMatchObject([{ content: '["c1",4,1,1]' }])
    expect(receivedMessage?.history).toHaveLength(4)
    expect(receivedMessage?.parts).toEqual([{ kind: 'link', url: 'https://agents.test/signed' }])
    expect(info).toHaveBeenCalledWith({ correlation_id: 'c1', agent: 'echo', step: 1 }, 'working')
  })

  test('marks files at URLs that peers chose, in the message and the history', async () => {
    let receivedMessage: NormalizedMessage | undefined
    const { memory, turnContext } = openTurnBench(
      async message => {
        receivedMessage = message
        return 'ok'
      },
      { presentParts: parts => [...parts] },
    )
    const file: Part = { kind: 'file', bytes_ref: { kind: 'url', url: 'https://peer.test/a.png' } }
    const storedFile: Part = {
      kind: 'file',
      bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest: '0'.repeat(64) },
    }
    vi.spyOn(memory.store, 'readHistory').mockResolvedValue(
      (['user', 'assistant'] as const).map((role, seq) => ({
        ...{ seq, entryId: `e${seq}`, role, author: { address: '@alice@peer.test' } },
        ...{ parts: [file], at: '2026-01-01T00:00:00.000Z' },
      })),
    )
    const asked = turn(1)
    await runTurn(
      { ...asked, content: { ...asked.content, parts: [file, storedFile] } },
      turnContext,
      neverAbortedSignal,
    )
    const foreignFile = { ...file, bytes_ref: { ...file.bytes_ref, foreign: true } }
    expect(receivedMessage?.parts).toEqual([foreignFile, storedFile])
    expect(receivedMessage?.history?.map(({ parts }) => parts)).toEqual([[foreignFile], [file]])
  })

  test('reads the raw message only if the agent reads it', async () => {
    const raw = vi.fn(() => 'octets')
    const createLazyTurn = (): Turn => {
      const { content, ...rest } = turn(1)
      return { ...rest, content: Object.defineProperty({ ...content }, 'raw', { get: raw, enumerable: true }) }
    }
    const benchWithoutRaw = openTurnBench(() => 'hi')
    await runTurn(createLazyTurn(), benchWithoutRaw.turnContext, neverAbortedSignal)
    expect(raw).not.toHaveBeenCalled()
    const benchWithRaw = openTurnBench(message => String(message.raw))
    await runTurn(createLazyTurn(), benchWithRaw.turnContext, neverAbortedSignal)
    expect(benchWithRaw.memory.commits[0]?.answer.response?.parts).toMatchObject([{ content: 'octets' }])
  })
})

test('a called agent gets the sender whom its caller names, until the store has forgotten the sender', async () => {
  const { memory, turnContext } = openTurnBench(message => JSON.stringify(message.on_behalf_of ?? 'nobody'))
  const calledTurn = turn(1)
  const called_by = { agent: 'front', message: 7, correlation_id: 'c7', on_behalf: true }
  const content = { ...calledTurn.content, called_by }
  let changes: readonly EntryChange[] = []
  const sender = { ...calledTurn.content.sender, address: '@ann@peer.test' }
  Object.assign(memory.store, {
    listChanges: async () => changes,
    readTurn: async () => ({ ...calledTurn, content: { ...calledTurn.content, sender } }),
  })
  await runTurn({ ...calledTurn, content }, turnContext, neverAbortedSignal)
  changes = [{ seq: 7, how: 'forgotten' }]
  await runTurn({ ...calledTurn, content }, turnContext, neverAbortedSignal)
  const said = memory.commits.map(({ answer }) => plainTextOf(answer.response?.parts ?? []))
  expect(said).toEqual([JSON.stringify(sender), '"nobody"'])
})
