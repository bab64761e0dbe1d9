import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noLog, Unavailable } from '@postern/message'
import { expect, test } from 'vitest'
import type { KnownAgent } from '../src/agents/agent-client.ts'
import { createDispatch } from '../src/agents/dispatch.ts'
import { createOpenTasks } from '../src/agents/open-tasks.ts'
import { defaultLimits, readFlags } from '../src/config.ts'
import { openKeyRing } from '../src/issuer/key-ring.ts'
import { createOpenRequirements } from '../src/rooms/requirements.ts'
import { createRooms } from '../src/rooms/rooms.ts'
import { createPerson } from '../src/rooms/session.ts'

test('remote agents that never answer do not block local agents', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'postern-dispatch-'))
  const keys = await openKeyRing(join(directory, 'deep', 'keys.json'), Date.now)
  const limits = { ...defaultLimits, calls: 8, callsPerPerson: 4 }
  const config = { ...readFlags(['--agents-domain', 'agents.test'], {}), limits }
  const queries: string[] = []
  const rejectPendingLookups: (() => void)[] = []
  const rejectUnavailable = () => Promise.reject(new Unavailable('nobody is there'))
  const findAgent = (address: string) =>
    new Promise<KnownAgent>((_, reject) => {
      queries.push(address)
      rejectPendingLookups.push(() => reject(new Unavailable('nobody is there')))
    })
  const system = { fetch: rejectUnavailable, now: Date.now, sleep: () => Promise.resolve(), log: noLog }
  const rooms = createRooms(limits, Date.now)
  const room = rooms.open('lobby')
  const client = { findAgent, sendCall: rejectUnavailable, readTask: rejectUnavailable }
  const tasks = createOpenTasks(config)
  const dispatch = createDispatch({
    config,
    keys,
    system,
    client,
    rooms,
    requirements: createOpenRequirements(),
    tasks,
  })
  const attackers = Array.from({ length: 6 }, () => createPerson('Eve'))
  for (const [index, eve] of attackers.entries()) dispatch.acceptMessage(room, eve, `@a@evil.test @b@evil${index}.test`)
  expect(queries.filter(address => address.endsWith('@evil.test'))).toHaveLength(2)
  expect(queries).toHaveLength(4)
  dispatch.acceptMessage(room, createPerson('Ann'), '@echo')
  expect(queries.at(-1)).toBe('@echo@agents.test')
  for (const rejectLookup of rejectPendingLookups) rejectLookup()
  await dispatch.whenIdle()
  // All slots are free again.
  dispatch.acceptMessage(room, createPerson('Bob'), '@c@evil.test')
  expect(queries.at(-1)).toBe('@c@evil.test')
  rejectPendingLookups.at(-1)?.()
  await dispatch.whenIdle()
  rmSync(directory, { recursive: true })
})

test.each([
  [['--origin', 'http://chat.test'], /origin.*it is no https origin/],
  [['--origin', 'https://chat.test:8443'], /origin.*it is no https origin/],
  [['--port', 'x'], /port.*it is no port/],
  [['--agents-domain', 'Agents.test'], /agents-domain.*it is no domain/],
  [['--loopback', 'agents.test=8787'], /loopback.*it is for dev mode only/],
  [['--dev', '--loopback', 'agents.test'], /loopback.*no host and port/],
  [['--nonsense'], /command line.*nonsense/],
])('the command refuses the flags %j with a reason', (flags, expectedMessage) => {
  expect(() => readFlags(flags, {})).toThrow(expectedMessage)
})

test('flags override environment variables, and these override defaults', () => {
  const environment = { CHAT_PORT: '1', CHAT_NAME: 'Ours', CHAT_DEV: 'true', CHAT_LOOPBACK: 'a.test=1,b.test=2' }
  expect(readFlags(['--port', '2'], environment)).toMatchObject({
    port: 2,
    name: 'Ours',
    dev: true,
    origin: 'https://chat.test',
    loopback: { 'a.test': 1, 'b.test': 2 },
  })
})
