import { findFreePort } from '@postern/testing/free-port'
import { expect, onTestFinished, test } from 'vitest'
import { openForkedGateway } from '../setup/forked-gateway.ts'
import { openTestGateway } from '../setup/gateway.ts'
import { openCollector } from './collector.ts'

test('an unreachable collector affects neither messages nor the shutdown', async () => {
  const endpoint = `http://127.0.0.1:${await findFreePort()}/v1/traces`
  const gateway = await openTestGateway(() => ({
    agents: { echo: { use: 'builtin:echo' } },
    telemetry: { endpoint },
  }))
  onTestFinished(() => gateway.simulation.close())
  await gateway.simulation.send({ via: 'a2a', to: 'echo', text: 'hello' })
  expect((await gateway.messages()).map(({ state }) => state)).toEqual(['answered'])
  await gateway.gateway().stop()
})

test('a collector that never answers delays the shutdown by at most two seconds', async () => {
  const collector = await openCollector({ answers: false })
  onTestFinished(collector.close)
  const gateway = await openTestGateway(() => ({
    agents: { echo: { use: 'builtin:echo' } },
    telemetry: { endpoint: collector.endpoint },
  }))
  onTestFinished(() => gateway.simulation.close())
  await gateway.simulation.send({ via: 'a2a', to: 'echo', text: 'hello' })
  const startedAt = performance.now()
  await gateway.gateway().stop()
  expect(collector.bodies.length).toBeGreaterThan(0)
  // The exporter's own limit is ten seconds.
  expect(performance.now() - startedAt).toBeLessThan(8_000)
})

/** Reports to the parent, on request, which files of OpenTelemetry were loaded. */
const preload = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from 'node:module'
const loaded = []
registerHooks({ load(url, context, next) { if (url.includes('/@opentelemetry/')) loaded.push(url); return next(url, context) } })
process.on('message', () => process.send(loaded.length))
`)}`

async function countLoaded(settings: object): Promise<number> {
  const gateway = await openForkedGateway(preload, { agents: { echo: { use: 'builtin:echo' } }, ...settings })
  try {
    await gateway.simulation.send({ via: 'a2a', to: 'echo', text: 'hello' })
    return await new Promise<number>(resolve => {
      gateway.child.once('message', message => resolve(Number(message)))
      gateway.child.send('count')
    })
  } finally {
    await gateway.close()
  }
}

test('the gateway loads OpenTelemetry only with telemetry.endpoint', async () => {
  expect(await countLoaded({})).toBe(0)
  expect(await countLoaded({ telemetry: { endpoint: 'http://127.0.0.1:9/v1/traces' } })).toBeGreaterThan(10)
})
