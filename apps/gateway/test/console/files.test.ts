import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway } from '../setup/gateway.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await openTestGateway()
})
afterAll(() => gateway.close())

const fetchFile = (path: string, headers = {}) => fetch(`${gateway.url()}${path}`, { headers, redirect: 'manual' })

test('the gateway serves the console from the repository, with a policy without inline scripts', async () => {
  const page = await fetchFile('/operator/')
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  const policy = page.headers.get('content-security-policy') ?? ''
  expect(policy).toContain("script-src 'self';")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).not.toMatch(/unsafe|https?:|\*/)
  expect(await page.text()).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=/)
})

test('the gateway does not send an unchanged file again', async () => {
  const first = await fetchFile('/operator/app/main.js')
  const etag = first.headers.get('etag') ?? ''
  expect([first.status, first.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
  expect((await fetchFile('/operator/app/main.js', { 'if-none-match': etag })).status).toBe(304)
})

test.each([
  '/operator/../package.json',
  '/operator/%2e%2e/package.json',
  '/operator/..%2fpackage.json',
  '/operator/vendor/preact.d.ts',
  '/operator/app',
  '/postern-chat/../index.html',
  '/postern-chat/%2e%2e/index.html',
  '/postern-chat/..%2findex.html',
  '/postern-chat/vendor/markdown-it.d.ts',
  '/operator/constructor',
])('%s is not a file of the console', async path => {
  expect((await fetchFile(path)).status).toBe(404)
})

test('pages of any origin may load the chat element with its modules, and nothing of the console', async () => {
  const loaded = ['/postern-chat.js']
  for (const path of loaded) {
    const chat = await fetchFile(path)
    expect([path, chat.status, chat.headers.get('access-control-allow-origin')]).toEqual([path, 200, '*'])
    const imports = [...(await chat.text()).matchAll(/^import .* from '([^']+)'$/gm)].map(([, from = '']) => from)
    loaded.push(...imports.map(from => new URL(from, `http://x${path}`).pathname).filter(url => !loaded.includes(url)))
  }
  expect(loaded).toContain('/postern-chat/vendor/markdown-it.js')
  const ownResponse = await fetchFile('/operator/app/main.js')
  expect(ownResponse.headers.get('access-control-allow-origin')).toBeNull()
  expect(ownResponse.headers.get('cross-origin-resource-policy')).toBe('same-origin')
})

test('the URL without its final slash redirects to the page', async () => {
  const response = await fetchFile('/operator')
  expect([response.status, response.headers.get('location')]).toEqual([308, '/operator/'])
})
