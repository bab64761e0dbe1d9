import { Rejection } from '@postern/message'
import { describe, expect, it } from 'vitest'
import {
  auditTool,
  buildDecisionEnvelope,
  callUnderPolicy,
  claimRun,
  createMemoryRecords,
  createMemoryTranscript,
  createPendingActions,
  createPolicyMemory,
  createSessionStore,
  observeTool,
  type RequestedCall,
  type SessionPrincipal,
  screenExternalMessage,
} from '../../index.ts'

const ann: SessionPrincipal = { owner: 'user:ann', owner_type: 'user', owner_key: 'ann' }
const bob: SessionPrincipal = { owner: 'user:bob', owner_type: 'user', owner_key: 'bob' }

function openSessions() {
  let time = Date.UTC(2026, 2, 13, 10)
  let seed = 0
  const system = { now: () => time, randomBytes: (size: number) => new Uint8Array(size).fill(++seed) }
  const records = createMemoryRecords()
  const transcript = createMemoryTranscript(system)
  const sessions = createSessionStore({ transcript, records, system })
  return { system, records, transcript, sessions, pass: (ms: number) => (time += ms) }
}

describe('createSessionStore()', () => {
  it('gives a new session a UUID version 4, its owner and no messages', async () => {
    const { sessions } = openSessions()
    const session = await sessions.create(ann, { agent_slug: 'desk' })
    expect(session.session_id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(session).toMatchObject({
      owner_type: 'user',
      owner_key: 'ann',
      agent_slug: 'desk',
      context: 'chat',
      messages: [],
    })
  })

  it('replaces the whole list on update, keeps the title and moves updated_at (E-36)', async () => {
    const { sessions, pass } = openSessions()
    const { session_id: id } = await sessions.create(ann, { title: 'Tea' })
    await sessions.update(ann, id, {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
      ],
    })
    pass(1000)
    const updated = await sessions.update(ann, id, { messages: [{ role: 'user', content: 'c' }], model: 'm' })
    expect(updated).toMatchObject({ title: 'Tea', model: 'm', updated_at: '2026-03-13T10:00:01.000Z' })
    expect(updated?.messages.map(({ content }) => content)).toEqual(['c'])
    expect((await sessions.get(ann, id))?.messages).toEqual(updated?.messages)
  })

  it('changes nothing for a list with an invalid message (E-36)', async () => {
    const { sessions } = openSessions()
    const { session_id: id } = await sessions.create(ann)
    await sessions.update(ann, id, { messages: [{ role: 'user', content: 'a' }] })
    const bad = sessions.update(ann, id, { messages: [{ role: 'user', content: 'b' }, { role: '' }] })
    await expect(bad).rejects.toThrow(
      new Rejection('malformed', 'invalid_ai_message_envelope: role must be a non-empty string'),
    )
    expect((await sessions.get(ann, id))?.messages.map(({ content }) => content)).toEqual(['a'])
  })

  it('keeps earlier entries when a list returns with one more message', async () => {
    const { sessions, transcript } = openSessions()
    const { session_id: id } = await sessions.create(ann)
    const first = await sessions.update(ann, id, {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
      ],
    })
    const thread = await sessions.findThread(ann, id)
    if (!thread) throw new Error('no thread')
    const before = await transcript.read(thread)
    await sessions.update(ann, id, { messages: [...(first?.messages ?? []), { role: 'user', content: 'c' }] })
    expect((await transcript.read(thread)).slice(0, 2)).toEqual(before)
  })

  it('finds one session for two posts of a first message within ten minutes, also simultaneous (E-34)', async () => {
    const { sessions, pass } = openSessions()
    const [one, two] = await Promise.all([sessions.open(ann), sessions.open(ann)])
    expect(two.session_id).toBe(one.session_id)
    expect(await sessions.list(ann)).toHaveLength(1)
    expect((await sessions.findPending(ann))?.session_id).toBe(one.session_id)
    expect((await sessions.open(ann, { context: 'cron' })).session_id).not.toBe(one.session_id)
    pass(599_999)
    expect((await sessions.open(ann)).session_id).toBe(one.session_id)
    pass(1)
    expect(await sessions.findPending(ann)).toBeUndefined()
    expect((await sessions.open(ann)).session_id).not.toBe(one.session_id)
  })

  it('finds a pending session only by its token and context (E-34)', async () => {
    const { sessions } = openSessions()
    const { session_id: id } = await sessions.open(ann, { token_id: 'one' })
    expect((await sessions.findPending(ann, { token_id: 'one' }))?.session_id).toBe(id)
    expect((await sessions.findPending(ann))?.session_id).toBe(id)
    expect(await sessions.findPending(ann, { token_id: 'two' })).toBeUndefined()
    expect(await sessions.findPending(ann, { token_id: 'one', context: 'other' })).toBeUndefined()
  })

  it('treats a session with messages as pending only while it holds its lock (E-34)', async () => {
    const { sessions } = openSessions()
    const { session_id: id } = await sessions.open(ann)
    await sessions.update(ann, id, { messages: [{ role: 'user', content: 'a' }] })
    expect(await sessions.findPending(ann)).toBeUndefined()
    const lock = await sessions.acquireLock(ann, id)
    expect((await sessions.findPending(ann))?.session_id).toBe(id)
    await sessions.releaseLock(ann, id, lock?.token ?? '')
    expect((await sessions.open(ann)).session_id).not.toBe(id)
  })

  it('answers a second writer with transcript_lock_contention, and keeps the messages (E-35)', async () => {
    const { sessions, pass } = openSessions()
    const { session_id: id } = await sessions.create(ann)
    const lock = await sessions.acquireLock(ann, id)
    expect(await sessions.acquireLock(ann, id)).toBeUndefined()
    const messages = [{ role: 'user', content: 'a' }]
    await expect(sessions.update(ann, id, { messages })).rejects.toThrow('transcript_lock_contention')
    expect((await sessions.get(ann, id))?.messages).toEqual([])
    await sessions.update(ann, id, { messages, token: lock?.token })
    pass(299_999)
    expect(await sessions.acquireLock(ann, id)).toBeUndefined()
    pass(1)
    const next = await sessions.acquireLock(ann, id)
    expect(await sessions.releaseLock(ann, id, lock?.token ?? '')).toBe(false)
    await expect(sessions.update(ann, id, { messages: [], token: lock?.token })).rejects.toThrow(
      'transcript_lock_contention',
    )
    expect(await sessions.releaseLock(ann, id, next?.token ?? '')).toBe(true)
  })

  it('hides sessions from other owners, whose changes and deletions have no effect (E-37)', async () => {
    const { sessions } = openSessions()
    const { session_id: id } = await sessions.create(ann, { title: 'Tea' })
    expect(await sessions.get(bob, id)).toBeUndefined()
    expect(await sessions.update(bob, id, { messages: [] })).toBeUndefined()
    expect(await sessions.updateTitle(bob, id, 'mine')).toBe(false)
    expect(await sessions.acquireLock(bob, id)).toBeUndefined()
    await sessions.remove(bob, id)
    await sessions.remove(bob, 'nothing')
    expect((await sessions.get(ann, id))?.title).toBe('Tea')
    await sessions.remove(ann, id)
    expect(await sessions.get(ann, id)).toBeUndefined()
  })

  it('gives no session to many people who share an audience', async () => {
    const { sessions } = openSessions()
    const audience: SessionPrincipal = { owner: 'audience:all', owner_type: 'audience', owner_key: 'all' }
    await expect(sessions.create(audience)).rejects.toThrow(
      new Rejection('forbidden', 'Cannot use session: a shared audience owns no session'),
    )
  })

  it('lists sessions newest first, within limits, without messages unless requested', async () => {
    const { sessions } = openSessions()
    for (const agent_slug of ['a', 'b', 'a']) {
      const { session_id } = await sessions.create(ann, { agent_slug, title: agent_slug })
      await sessions.update(ann, session_id, { messages: [{ role: 'user', content: agent_slug }] })
    }
    expect((await sessions.list(ann)).map(({ title }) => title)).toEqual(['a', 'b', 'a'])
    expect((await sessions.list(ann, { limit: 1, offset: 1 })).map(({ title }) => title)).toEqual(['b'])
    expect(await sessions.list(ann, { agent_slug: 'a' })).toHaveLength(2)
    expect((await sessions.list(ann))[0]?.messages).toEqual([])
    expect((await sessions.list(ann, { include_messages: true }))[0]?.messages).toHaveLength(1)
    expect(await sessions.list(bob)).toEqual([])
    for (const limit of [0, 101, 1.5]) {
      await expect(sessions.list(ann, { limit })).rejects.toThrow(
        new Rejection('malformed', 'Cannot list sessions: limit must be 1 to 100'),
      )
    }
  })

  it('refuses a session with an invalid end, and reads an end without a zone as UTC', async () => {
    const { sessions } = openSessions()
    await expect(sessions.create(ann, { expires_at: 'tomorrow' })).rejects.toThrow(
      new Rejection('malformed', 'Cannot open session: expires_at is no time'),
    )
    expect(await sessions.list(ann)).toEqual([])
    const { expires_at } = await sessions.create(ann, { expires_at: '2026-04-28 12:00:00' })
    expect(expires_at).toBe('2026-04-28T12:00:00.000Z')
  })

  it('hides an expired session', async () => {
    const { sessions, pass } = openSessions()
    const { session_id: id } = await sessions.create(ann, { expires_at: '2026-03-13T10:00:01.000Z' })
    pass(1000)
    expect(await sessions.get(ann, id)).toBeUndefined()
    expect(await sessions.list(ann)).toEqual([])
  })
})

describe('tools under policy', () => {
  const call: RequestedCall = {
    owner: ann.owner,
    agent: 'desk',
    tool_name: 'refund',
    tool_call_id: 'c1',
    parameters: { amount: 5 },
    turn: 1,
    summary: 'Refund 5',
  }

  function openActions() {
    const opened = openSessions()
    const ran: unknown[] = []
    const actions = createPendingActions(opened.records, opened.system)
    const run = async (parameters: unknown) => {
      ran.push(parameters)
      return { refunded: 5 }
    }
    const decide = (id: string, decision: 'accepted' | 'rejected', owner = ann.owner) =>
      actions.resolve(owner, id, {
        decision,
        resolver: 'operator:eve',
        mayResolve: () => true,
        apply: action => run(action.apply_input),
      })
    return { ...opened, actions, run, ran, decide }
  }

  it('wait as a pending action under preview, with an approval for the result (E-38)', async () => {
    const { actions, run, ran } = openActions()
    const { envelope, isWaiting } = await callUnderPolicy(call, 'preview', { actions, run })
    expect(isWaiting).toBe(true)
    expect(ran).toEqual([])
    const [action] = await actions.list(ann.owner, 'pending')
    expect(envelope).toMatchObject({ type: 'approval_required', role: 'tool', content: 'Refund 5', payload: action })
    expect(action).toMatchObject({ kind: 'refund', apply_input: { amount: 5 }, status: 'pending' })
  })

  it('run under direct, and never under forbidden', async () => {
    const { actions, run, ran } = openActions()
    const direct = await callUnderPolicy(call, 'direct', { actions, run })
    expect(direct).toMatchObject({
      isWaiting: false,
      envelope: { payload: { success: true, tool_data: { refunded: 5 } } },
    })
    const forbidden = await callUnderPolicy(call, 'forbidden', { actions, run })
    expect(forbidden.envelope.payload).toMatchObject({ success: false, error: 'the tool is forbidden' })
    expect(ran).toHaveLength(1)
  })

  it('run once for one of two simultaneous approvals (E-39)', async () => {
    const { actions, run, ran, decide } = openActions()
    await callUnderPolicy(call, 'preview', { actions, run })
    const id = (await actions.list(ann.owner))[0]?.action_id ?? ''
    const outcomes = await Promise.allSettled([decide(id, 'accepted'), decide(id, 'accepted'), decide(id, 'rejected')])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
    await expect(decide(id, 'accepted')).rejects.toThrow(
      new Rejection('replayed', 'Cannot resolve action: it is decided already'),
    )
    expect(ran).toEqual([{ amount: 5 }])
    const action = await actions.get(ann.owner, id)
    expect(action).toMatchObject({
      status: 'accepted',
      resolver: 'operator:eve',
      resolved_at: '2026-03-13T10:00:00.000Z',
      resolution_result: { refunded: 5 },
    })
    if (action)
      expect(buildDecisionEnvelope(action)).toMatchObject({ type: 'tool_result', metadata: { tool_call_id: 'c1' } })
  })

  it('never run after a rejection or expiry (E-39)', async () => {
    const { actions, run, ran, decide, pass } = openActions()
    await callUnderPolicy(call, 'preview', { actions, run })
    await callUnderPolicy({ ...call, expires_at: '2026-03-13T10:00:05.000Z' }, 'preview', { actions, run })
    const [short, long] = await actions.list(ann.owner)
    const rejected = await decide(long?.action_id ?? '', 'rejected')
    expect(rejected).toMatchObject({ status: 'rejected', resolver: 'operator:eve' })
    expect(buildDecisionEnvelope(rejected).payload).toMatchObject({ success: false, error: 'the action was rejected' })
    pass(5000)
    await expect(decide(short?.action_id ?? '', 'accepted')).rejects.toThrow('it is decided already')
    const expired = await actions.get(ann.owner, short?.action_id ?? '')
    expect(expired).toMatchObject({ status: 'expired', resolved_at: '2026-03-13T10:00:05.000Z' })
    expect(expired?.resolver).toBeUndefined()
    expect(ran).toEqual([])
    expect(await actions.summarize(ann.owner)).toEqual({ pending: 0, accepted: 0, rejected: 1, expired: 1, deleted: 0 })
  })

  it('need a decision of their owner, with permission (E-39)', async () => {
    const { actions, run, ran, decide } = openActions()
    await callUnderPolicy(call, 'preview', { actions, run })
    const id = (await actions.list(ann.owner))[0]?.action_id ?? ''
    const refused = new Rejection('forbidden', 'Cannot resolve action: no such action for this resolver')
    await expect(decide(id, 'accepted', bob.owner)).rejects.toThrow(refused)
    const mayNot = { decision: 'accepted', resolver: 'x', mayResolve: () => false, apply: async () => null } as const
    await expect(actions.resolve(ann.owner, id, mayNot)).rejects.toThrow(refused)
    expect(ran).toEqual([])
  })

  it('stay accepted if they fail after approval, with a failure without details (E-39)', async () => {
    const { actions, run } = openActions()
    await callUnderPolicy(call, 'preview', { actions, run })
    const id = (await actions.list(ann.owner))[0]?.action_id ?? ''
    const apply = () => Promise.reject(new Error('card 1234 declined'))
    const failed = await actions.resolve(ann.owner, id, {
      decision: 'accepted',
      resolver: 'x',
      mayResolve: () => true,
      apply,
    })
    expect(failed).toMatchObject({ status: 'accepted', resolution_error: 'the tool failed', resolution_result: null })
    expect(buildDecisionEnvelope(failed)).toMatchObject({
      payload: { success: false, error: 'the tool failed' },
      metadata: { action_id: id, action_status: 'accepted' },
    })
  })

  it('expire once when old, and a removed action leaves the lists but stays for the audit (E-39)', async () => {
    const { actions, run, pass } = openActions()
    await callUnderPolicy({ ...call, expires_at: '2026-03-13T10:00:05.000Z' }, 'preview', { actions, run })
    await callUnderPolicy(call, 'preview', { actions, run })
    const [open, short] = await actions.list(ann.owner)
    pass(5000)
    expect(await actions.expire(ann.owner)).toEqual([short?.action_id])
    expect(await actions.expire(ann.owner)).toEqual([])
    expect(await actions.remove(ann.owner, open?.action_id ?? '', 'operator:eve')).toBe(true)
    expect(await actions.remove(ann.owner, open?.action_id ?? '', 'operator:eve')).toBe(false)
    expect((await actions.list(ann.owner)).map(({ status }) => status)).toEqual(['expired'])
    expect(await actions.get(ann.owner, open?.action_id ?? '')).toMatchObject({
      status: 'deleted',
      resolver: 'operator:eve',
    })
  })

  it('run by a remembered decision only for its workspace, user, agent and tool', async () => {
    const { records } = openSessions()
    const memory = createPolicyMemory(records)
    await memory.remember(call, 'direct')
    expect(await memory.find(call, 'preview')).toBe('direct')
    expect(await memory.find({ ...call, workspace: 'w' }, 'preview')).toBe('preview')
    expect(await memory.find({ ...call, owner: bob.owner }, 'preview')).toBe('preview')
  })

  it('give observers names and counts of arguments, without values (E-44)', () => {
    const executed = {
      ...call,
      result: { refunded: 'secret-2' },
      parameters: { card: 'secret-1' },
      turn_count: 1,
      success: true,
    }
    expect(observeTool(executed)).toEqual({
      tool_name: 'refund',
      argument_names: ['card'],
      argument_count: 1,
      result_type: 'object',
    })
    const audit = auditTool(executed)
    expect(audit.parameters_sha256).toMatch(/^[0-9a-f]{64}$/)
    expect(JSON.stringify([audit, observeTool(executed)])).not.toContain('secret')
  })
})

describe('repeated messages', () => {
  it('run once per owner for one run_id (E-43)', async () => {
    const { records, system } = openSessions()
    const run = { owner: ann.owner, run_id: 'r1' }
    await claimRun(records, system, run)
    await expect(claimRun(records, system, run)).rejects.toThrow(
      new Rejection('replayed', 'Cannot run: this run_id was used already'),
    )
    await claimRun(records, system, { ...run, owner: bob.owner })
  })

  it('have no effect if they are the store’s own, and count once while remembered (E-41, E-42)', async () => {
    const { records, system, pass } = openSessions()
    const message = {
      owner: ann.owner,
      ttlMs: 1000,
      connector_id: 'c',
      external_provider: 'chat',
      external_message_id: 'm1',
      from_self: false,
      text: 'hi',
    }
    const screen = (change: object = {}) => screenExternalMessage(records, system, { ...message, ...change })
    expect(await screen({ from_self: true })).toBe('silent_skip')
    expect(await Promise.all([screen(), screen()])).toEqual(['take', 'duplicate'])
    pass(1000)
    expect(await screen()).toBe('take')
  })
})
