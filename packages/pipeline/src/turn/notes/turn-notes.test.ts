import { LeaseLost, Rejection, TurnAborted, Unavailable } from '@postern/message'
import { describe, expect, test, vi } from 'vitest'
import { turn } from '../../../test/memory-store.ts'
import { neverAbortedSignal, openTurnBench } from '../../../test/turn-bench.ts'
import type { Agent } from '../../ports/agent/agent.ts'
import type { AgentCallAnswer, CallAgent } from '../../ports/agent/agent-call.ts'
import type { AgentContext } from '../../ports/agent/agent-context.ts'
import type { AgentNote, NoteBody, NoteContext, TurnNote } from '../../ports/records/note.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import type { TurnContext } from '../../ports/turn/turn-context.ts'
import { runTurn } from '../turn.ts'

/** Reads notes approximately as the transcript does. */
function readNote(note: AgentNote, noteContext: NoteContext): NoteBody {
  if (note.type === 'nonsense') throw new Rejection('malformed', 'Cannot read message: type: unknown type')
  return { kind: note.type, note, ...noteContext } as unknown as NoteBody
}

function createCallAnswer(content: string, status: AgentCallAnswer['status'] = 'completed'): AgentCallAnswer {
  return { parts: [{ kind: 'text', mime: 'text/plain', content }], status, source: { address: 'x', card: 'y' } }
}

function openNotesBench(handle: Agent['handle'], members: Partial<TurnContext> = {}) {
  const bench = openTurnBench(handle, { readNote, callAgent: async () => createCallAnswer('done'), ...members })
  const listNotes = () => [...bench.memory.notes.flatMap(({ notes }) => notes), ...(readCommittedAnswer()?.notes ?? [])]
  const readCommittedAnswer = () => bench.memory.commits[0]?.answer
  return {
    ...bench,
    kept: listNotes,
    committed: readCommittedAnswer,
    work: (turnToRun: Turn = turn(1)) => runTurn(turnToRun, bench.turnContext, neverAbortedSignal),
  }
}

const kindsOf = (notes: readonly TurnNote[]) => notes.map(({ body }) => body.kind)

describe('a call (S-31)', () => {
  const handleWithCall = async (_: unknown, { call }: AgentContext) => {
    await call('@one@b.test', 'count them')
    return 'counted'
  }

  test('is in the store before it leaves the gateway, and its outcome follows with the answer', async () => {
    const callAgent = vi.fn<CallAgent>(async () => createCallAnswer('seven'))
    const noting = openNotesBench(handleWithCall, { callAgent })
    const { store } = noting.memory
    vi.spyOn(store, 'note').mockImplementation(async (_, notes) => {
      expect(callAgent).not.toHaveBeenCalled()
      expect(notes).toMatchObject([
        { body: { note: { type: 'delegation', worker: '@one@b.test', task: 'count them' }, agent_key: 'echo' } },
      ])
    })
    await noting.work()
    expect(store.note).toHaveBeenCalledOnce()
    const call_id = expect.stringMatching(/^store-1\.1 [0-9a-f]{16}$/)
    expect(noting.committed()?.notes).toMatchObject([
      { body: { note: { type: 'observation', content: 'seven' }, turn_id: 'store-1', call_id, tool: 'delegate' } },
    ])
  })

  test('needs a process that still holds the lease of the turn', async () => {
    const callAgent = vi.fn<CallAgent>()
    const noting = openNotesBench(handleWithCall, { callAgent })
    vi.spyOn(noting.memory.store, 'note').mockRejectedValue(new LeaseLost('lost'))
    vi.spyOn(noting.memory.store, 'commit').mockRejectedValue(new LeaseLost('lost'))
    await expect(noting.work()).rejects.toThrow(LeaseLost)
    expect(callAgent).not.toHaveBeenCalled()
  })

  test('has the same key when the turn runs again, and another key for another text', async () => {
    const nameOf = async (words: string, given: Turn) => {
      const noting = openNotesBench(async (_, { call }) => (await call('@one@b.test', words)).status)
      await noting.work(given)
      return noting.kept()[0]?.name
    }
    const firstName = await nameOf('count them', turn(1))
    expect(await nameOf('count them', { ...turn(1), token: 2, attempt: 2 })).toBe(firstName)
    expect(await nameOf('count others', turn(1))).not.toBe(firstName)
    expect(await nameOf('count them', { ...turn(1), revision: 1 })).not.toBe(firstName)
  })

  test('has its own observation among parallel calls, under its own id', async () => {
    const noting = openNotesBench(
      async (_, { call }) => {
        await Promise.all([call('@one@b.test', 'slow'), call('@two@b.test', 'swift')])
        return 'both'
      },
      { callAgent: async address => createCallAnswer(`I am ${address}`) },
    )
    await noting.work()
    const bodies = noting.kept().map(({ body }) => body as unknown as NoteContext & { readonly note: AgentNote })
    const observations = bodies.filter(({ note }) => note.type === 'observation')
    const startedCalls = bodies.filter(({ note }) => note.type === 'delegation')
    expect(startedCalls).toHaveLength(2)
    for (const { call_id, note } of startedCalls) {
      expect(observations.find(end => end.call_id === call_id)?.note.content).toBe(`I am ${note.worker}`)
    }
  })

  test.each<[what: string, end: () => Promise<AgentCallAnswer>, content: string, code: string]>([
    ['is refused', async () => Promise.reject(new Rejection('forbidden', 'not you')), 'not you', 'forbidden'],
    ['is not answered', async () => Promise.reject(new Unavailable('nobody there')), 'nobody there', 'unavailable'],
    ['fails inside', async () => Promise.reject(new Error('at /home/me')), 'The call failed.', 'failed'],
    ['is answered by a failure', async () => createCallAnswer('I broke', 'failed'), 'I broke', 'failed'],
  ])('that %s has a failed observation, and the agent continues', async (_what, end, content, code) => {
    const noting = openNotesBench(
      async (_, { call }) =>
        call('@one@b.test', 'x').then(
          ({ status }) => status,
          (error: Error) => error.message,
        ),
      { callAgent: end },
    )
    await noting.work()
    expect(noting.kept()[1]?.body).toMatchObject({ note: { content }, error: { message: content, code } })
  })

  test('ends with its turn if nobody waits for it', async () => {
    const noting = openNotesBench(
      (_, { call }) => {
        call('@one@b.test', 'x').catch(() => undefined)
        return new Promise(resolve => setTimeout(() => resolve('gone'), 5))
      },
      { callAgent: () => new Promise(() => {}) },
    )
    await noting.work()
    expect(noting.kept().at(-1)?.body).toMatchObject({ error: { message: 'The turn ended before it answered' } })
  })

  test('fails with the turn if it takes longer than the turn may', async () => {
    const noting = openNotesBench(handleWithCall, {
      callAgent: () => new Promise(() => {}),
      deadlineMs: 10,
    } as Partial<TurnContext>)
    await noting.work()
    expect(noting.committed()?.response?.status).toBe('failed')
    expect(kindsOf(noting.kept())).toEqual(['delegation', 'observation'])
    expect(noting.kept()[1]?.body).toMatchObject({ error: { message: 'The turn ended before it answered' } })
  })

  test('stays open when its turn aborts, until the next attempt repeats it', async () => {
    const noting = openNotesBench(handleWithCall, {
      callAgent: async (_, __, { signal }) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason))
          noting.memory.store.notify('message:1', { kind: 'edited' })
        }),
    })
    await noting.work()
    expect(kindsOf(noting.kept())).toEqual(['delegation'])
  })

  test('may have any text, which the gateway clips for the store', async () => {
    const words = `half a pair \ud800 ${'\u0001'.repeat(50_000)}`
    const noting = openNotesBench(async (_, { call }) => (await call('@one@b.test', words)).status, {
      callAgent: async () => createCallAnswer(words),
    })
    await noting.work()
    const [task, content] = noting.kept().map(({ body }) => body.note as AgentNote)
    expect(task?.task).toBe(`${words.toWellFormed().slice(0, 32_768)}…`)
    // The control characters are removed from another agent's answer.
    expect(content?.content).toBe('half a pair \ufffd ')
    expect(noting.committed()?.response?.status).toBe('completed')
  })

  test('fails after the end of the turn, because the store could not record it any more', async () => {
    const lateCall = Promise.withResolvers<unknown>()
    const callAgent = vi.fn<CallAgent>()
    const noting = openNotesBench(
      (_, { call }) => {
        setTimeout(() => call('@one@b.test', 'x').then(lateCall.resolve, lateCall.resolve), 5)
        return 'done'
      },
      { callAgent },
    )
    await noting.work()
    expect(await lateCall.promise).toMatchObject({
      name: 'Undeliverable',
      message: 'Cannot call agent: the turn has ended',
    })
    expect(callAgent).not.toHaveBeenCalled()
  })

  test('does not leave the gateway if the turn ends at once, and still gets an outcome', async () => {
    const callAgent = vi.fn<CallAgent>()
    const noting = openNotesBench(
      (_, { call }) => {
        call('@one@b.test', 'x').catch(() => undefined)
        return 'done'
      },
      { callAgent },
    )
    const { store, notes } = noting.memory
    vi.spyOn(store, 'note').mockImplementation(async (given, kept) => {
      // Storing the note takes longer than the agent.
      await new Promise(resolve => setTimeout(resolve, 5))
      notes.push({ turn: given, notes: kept })
    })
    await noting.work()
    expect(callAgent).not.toHaveBeenCalled()
    expect(kindsOf(noting.kept())).toEqual(['delegation', 'observation'])
  })

  test('belongs to the calling agent if several agents share an address', async () => {
    const noting = openNotesBench(
      async (_, { call }) => (await call('@one@b.test', 'x', { agentKey: 'triage' })).status,
    )
    await noting.work()
    expect(noting.kept().map(({ body }) => (body.note as AgentNote).agent_key)).toEqual(['triage', 'triage'])
  })

  test('appears to every agent of the conversation on request, unless it fails', async () => {
    const kinds = async (callAgent: CallAgent) => {
      const noting = openNotesBench(
        async (_, { call }) =>
          call('@one@b.test', 'x', { broadcast: true }).then(
            () => 'ok',
            () => 'failed',
          ),
        { callAgent },
      )
      await noting.work()
      return kindsOf(noting.kept())
    }
    expect(await kinds(async () => createCallAnswer('seven'))).toEqual([
      'delegation',
      'observation',
      'global_observation',
    ])
    expect(await kinds(async () => Promise.reject(new Unavailable('gone')))).toEqual(['delegation', 'observation'])
  })
})

describe('a note', () => {
  test('commits with an immediate answer, and a turn without notes writes nothing more', async () => {
    const noting = openNotesBench((_, { note }) => {
      note({ type: 'strategic_plan', content: { phases: [] } })
      return 'planned'
    })
    await noting.work()
    expect(noting.memory.notes).toEqual([])
    expect(noting.committed()).toMatchObject({ notes: [{ name: 'note 1', body: { kind: 'strategic_plan' } }] })
    const benchWithoutNotes = openNotesBench(() => 'hi')
    await benchWithoutNotes.work()
    expect(benchWithoutNotes.memory.notes).toEqual([])
    expect(benchWithoutNotes.committed()).not.toHaveProperty('notes')
    expect(benchWithoutNotes.committed()).not.toHaveProperty('noted')
  })

  test('is in the store while its agent continues', async () => {
    const noting = openNotesBench(async (_, { note }) => {
      note({ type: 'task', content: 'one' })
      note({ type: 'task', content: 'two' })
      await vi.waitFor(() => expect(noting.memory.notes).toHaveLength(1))
      note({ type: 'task', content: 'three' })
      return 'done'
    })
    await noting.work()
    expect(noting.memory.notes.map(({ notes }) => notes.length)).toEqual([2])
    expect(noting.committed()?.notes).toHaveLength(1)
  })

  test('precedes a call that the agent makes after it', async () => {
    const noting = openNotesBench(async (_, { note, call }) => {
      note({ type: 'director_context', content: 'first' })
      await call('@one@b.test', 'x')
      note({ type: 'synthesis', content: 'last', from_manager: 'echo' })
      return 'done'
    })
    await noting.work()
    expect(kindsOf(noting.kept())).toEqual(['director_context', 'delegation', 'observation', 'synthesis'])
  })

  test('survives the failure of its agent and the wait for the next attempt, but not a canceled turn', async () => {
    const openFailingBench = (error: Error) =>
      openNotesBench((_, { note }) => {
        note({ type: 'error', content: 'stuck' })
        throw error
      })
    const failedBench = openFailingBench(new Error('broken'))
    await failedBench.work()
    expect(kindsOf(failedBench.kept())).toEqual(['error'])
    expect(failedBench.committed()?.response?.status).toBe('failed')
    const retriedBench = openFailingBench(new Unavailable('later'))
    await retriedBench.work()
    expect([retriedBench.memory.releases.length, kindsOf(retriedBench.kept())]).toEqual([1, ['error']])
    const abortedBench = openFailingBench(new TurnAborted('deleted'))
    await abortedBench.work()
    expect(abortedBench.memory.notes).toEqual([])
  })

  test('of a repeated turn comes with the number of notes', async () => {
    const noting = openNotesBench((_, { note }) => {
      note({ type: 'task', content: 'again' })
      return 'done'
    })
    await noting.work({ ...turn(1), token: 2 })
    expect(noting.committed()?.noteCount).toBe(1)
  })

  test('throws at its call if it is invalid, and the store keeps nothing of it', async () => {
    const noting = openNotesBench((_, { note }) => {
      expect(() => note({ type: 'nonsense' })).toThrow(
        expect.objectContaining({ code: 'malformed', message: 'Cannot read message: type: unknown type' }),
      )
      expect(() => note({ type: 'task', content: 'x'.repeat(70_000) })).toThrow(
        expect.objectContaining({ code: 'too_large', message: 'Cannot note: longer than 65536 characters' }),
      )
      for (let count = 0; count < 500; count += 1) note({ type: 'task', content: count })
      expect(() => note({ type: 'task', content: 'one more' })).toThrow(
        expect.objectContaining({ code: 'too_large', message: 'Cannot note: more than 500 in one turn' }),
      )
      return 'done'
    })
    await noting.work()
    expect(noting.kept()).toHaveLength(500)
    expect(noting.committed()?.response?.status).toBe('completed')
  })

  test('in an answer counts like a note that the agent sent, and notes alone are silence', async () => {
    const noting = openNotesBench(() => ({ notes: [{ type: 'final', content: 'all is done' }] }))
    await noting.work()
    expect(kindsOf(noting.kept())).toEqual(['final'])
    expect(noting.committed()).not.toHaveProperty('response')
    const streamingBench = openNotesBench(async function* () {
      yield { notes: [{ type: 'task', content: 1 }], parts: [] }
      yield { status: 'working', parts: createCallAnswer('…').parts, notes: [{ type: 'task', content: 2 }] }
      yield 'done'
    } as Agent['handle'])
    await streamingBench.work()
    expect(kindsOf(streamingBench.kept())).toEqual(['task', 'task'])
    expect(streamingBench.committed()?.response).not.toHaveProperty('notes')
  })

  test('belongs to the phase of the synthesis for which the agent made it', async () => {
    const noting = openNotesBench((_, { note }) => {
      note({ type: 'synthesis', content: 'a', from_manager: 'echo' })
      note({ type: 'synthesis', content: 'b', from_manager: 'echo', phase_id: 7 })
      return 'done'
    })
    const { content, ...rest } = turn(1)
    await noting.work({ ...rest, content: { ...content, phase_id: 0 } })
    expect(noting.kept().map(({ body }) => (body.note as AgentNote).phase_id)).toEqual([0, 7])
  })

  test('that is an observation ends the first open action, or the named one', async () => {
    const noting = openNotesBench((_, { note }) => {
      for (const call_id of ['a', 'b']) note({ type: 'action', tool: 'ls', args: {}, call_id })
      note({ type: 'action', tool: 'ls', args: {} })
      note({ type: 'observation', content: 'of b', call_id: 'b' })
      note({ type: 'observation', content: 'of a' })
      note({ type: 'observation', content: 'of the third' })
      note({ type: 'observation', content: 'of nothing' })
      return 'done'
    })
    await noting.work()
    const ids = noting.kept().map(({ body }) => body.call_id)
    expect(ids.slice(3)).toEqual([
      ids[1],
      ids[0],
      ids[2],
      expect.not.stringMatching(`^(${ids.slice(0, 3).join('|')})$`),
    ])
  })
})

test('an agent that continues after its error can still note while the turn settles', async () => {
  const noteAfterError = async (_: unknown, { note }: AgentContext): Promise<string> => {
    setTimeout(() => note({ type: 'observation', content: 'late' }), 5)
    throw new Error('broken')
  }
  const noting = openNotesBench(noteAfterError)
  const { store } = noting.memory
  const commit = store.commit.bind(store)
  vi.spyOn(store, 'commit').mockImplementation(async (...args) => {
    await vi.waitFor(() => expect(kindsOf(noting.kept())).toEqual(['observation']))
    return commit(...args)
  })
  await noting.work()
  expect(noting.committed()?.response?.status).toBe('failed')
})
