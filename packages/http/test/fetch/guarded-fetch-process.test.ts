import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import type { TestListener } from '../listener.ts'
import { openHttpListener } from '../listener.ts'

const openListeners: TestListener[] = []
afterEach(async () => {
  await Promise.all(openListeners.splice(0).map(listener => listener.close()))
})

async function listen(name: string): Promise<TestListener> {
  const listener = await openHttpListener((_, response) => response.end(name))
  openListeners.push(listener)
  return listener
}

/** Runs code in a process of its own, which must exit by itself. */
async function runScript(origin: string, code: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const script = `
    import http from 'node:http'
    import { createGuardedFetch } from ${JSON.stringify(import.meta.resolve('../../src/fetch/guarded-fetch.ts'))}
    const origin = ${JSON.stringify(origin)}
    const fetch = createGuardedFetch({ userAgent: 'x', allowPrivate: [origin], lookup: async () => ['127.0.0.1'] })
    ${code}`
  const args = ['--input-type=module', '-e', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: 40_000 })
  return stdout.trim()
}

test('createGuardedFetch() ignores the proxies of the environment', async () => {
  const [proxy, server] = [await listen('proxy'), await listen('server')]
  const proxyUrl = `http://127.0.0.1:${proxy.port}`
  const env = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl, http_proxy: proxyUrl }
  const code = `
    const proxiedBody = new Promise(resolve => http.get(origin, response => response.on('data', data => resolve(String(data)))))
    console.log(await proxiedBody, Buffer.from((await fetch(origin)).body).toString())
    process.exit()`
  expect(await runScript(`http://desk.internal:${server.port}`, code, env)).toBe('proxy server')
})

test('idle connections and pending timers do not keep a process alive', async () => {
  const server = await listen('server')
  const code = 'console.log((await fetch(origin, { timeoutMs: 60_000 })).status)'
  expect(await runScript(`http://desk.internal:${server.port}`, code)).toBe('200')
})
