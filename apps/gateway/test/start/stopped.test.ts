import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noLog } from '@postern/message'
import { openSimulation } from '@postern/simulation'
import { expect, test, vi } from 'vitest'
import { parseConfig } from '../../src/config/read-config.ts'
import { openGateway } from '../../src/gateway.ts'
import { describeTestConfig, operatorToken } from '../setup/gateway.ts'

const options = { baseDir: import.meta.dirname, log: noLog, operatorToken }

test('a stopped gateway repeats no work, after a successful or a failed reload', async () => {
  const simulation = await openSimulation()
  const data = mkdtempSync(join(tmpdir(), 'postern-stopped-'))
  const describe = (agents: object, overrides: object = {}) =>
    parseConfig(describeTestConfig(simulation, data, { agents, ...overrides }))
  const set = vi.spyOn(globalThis, 'setInterval')
  const gateway = await openGateway(describe({ echo: { use: 'builtin:echo' } }), options)
  await gateway.start()
  await gateway.reload(describe({ help: { use: 'builtin:help' } }))
  const socket = { listen: { path: join(data, 'nowhere', 'socket'), protocol: 'lmtp' } }
  await expect(gateway.reload(describe({ echo: { use: 'builtin:echo' } }, { email: socket }))).rejects.toThrow('listen')
  await gateway.stop()
  const destroyedFlags = set.mock.results.map(({ value }) => (value as { readonly _destroyed: boolean })._destroyed)
  expect(destroyedFlags.length).toBeGreaterThan(3)
  expect(destroyedFlags).not.toContain(false)
  set.mockRestore()
  await simulation.close()
  rmSync(data, { recursive: true })
})
