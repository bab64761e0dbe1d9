import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { listenHttp } from '../test/listener.ts'

test('createGuardedFetch() goes past the proxies of the environment', async () => {
  const proxy = await listenHttp((_, response) => response.end('proxy'))
  const server = await listenHttp((_, response) => response.end('server'))
  const script = `
    import { createGuardedFetch } from ${JSON.stringify(import.meta.resolve('./guarded-fetch.ts'))}
    import http from 'node:http'
    const origin = 'http://desk.internal:${server.port}'
    const fetch = createGuardedFetch({ userAgent: 'x', allowPrivate: [origin], lookup: async () => ['127.0.0.1'] })
    const plain = new Promise(done => http.get(origin, response => response.on('data', data => done(String(data)))))
    console.log(await plain, Buffer.from((await fetch(origin)).body).toString())
    process.exit()
  `
  const proxyUrl = `http://127.0.0.1:${proxy.port}`
  const env = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl, http_proxy: proxyUrl }
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env })
  expect(stdout.trim()).toBe('proxy server')
  await Promise.all([proxy.close(), server.close()])
})
