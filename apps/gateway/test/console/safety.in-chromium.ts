// Tests that neither strangers nor foreign pages can use or change the console.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { operatorToken } from '../setup/gateway.ts'
import type { ConsoleGateway } from './console-gateway.ts'
import { openConsoleGateway, openSignedIn, watchFaults } from './console-gateway.ts'
import { serveForeignSite } from './pages/serve-pages.ts'

let gateway: ConsoleGateway
beforeAll(async () => {
  gateway = await openConsoleGateway()
})
afterAll(() => gateway.close())

test('a sign-in link works once and leaves no code in the URL, and the token works without a link', async () => {
  const page = await (await gateway.browser.newContext()).newPage()
  const code = gateway.gateway.createSignInCode()
  await page.goto(`${gateway.url}/operator/#${code}`)
  await page.getByRole('heading', { name: 'Flow' }).waitFor()
  expect(page.url()).not.toContain(code)
  expect(await page.evaluate(() => document.cookie)).toBe('')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Operator token').waitFor()
  await page.goto(`${gateway.url}/operator/?again#${code}`)
  await expect.poll(() => page.getByRole('alert').textContent()).toContain('used before')
  await page.getByLabel('Operator token').fill('not the token')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect.poll(() => page.getByRole('alert').textContent()).toContain('not the operator token')
  await page.getByLabel('Operator token').fill(operatorToken)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Flow' }).waitFor()
  await page.context().close()
})

test('a sign-in link pasted into an open tab also works, and leaves no code in the URL', async () => {
  const { page } = await gateway.openPage()
  const paste = async (code: string) => {
    await page.goto(`${gateway.url}/operator/#${code}`)
    await expect.poll(() => page.url()).not.toContain(code)
  }
  await paste(gateway.gateway.createSignInCode())
  await page.getByRole('heading', { name: 'Flow' }).waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Operator token').fill('not the token')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect.poll(() => page.getByRole('alert').textContent()).toContain('not the operator token')
  const code = gateway.gateway.createSignInCode()
  await paste(code)
  await page.getByRole('heading', { name: 'Flow' }).waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await paste(code)
  await expect.poll(() => page.getByRole('alert').textContent()).toContain('used before')
  await page.context().close()
})

test('the footer says when the gateway does not answer', async () => {
  const otherGateway = await openConsoleGateway()
  const { page } = await openSignedIn(gateway.browser, {
    url: otherGateway.url,
    code: otherGateway.gateway.createSignInCode(),
  })
  const foot = page.locator('.foot')
  await expect.poll(() => foot.textContent()).toContain('ready')
  await otherGateway.close()
  await expect.poll(() => foot.textContent()).toContain('does not answer')
  expect(await foot.textContent()).not.toContain('ready')
  await page.context().close()
})

test('every open screen leads to the sign-in after the session ends', async () => {
  const { page, show } = await gateway.openPage()
  await page.context().clearCookies()
  await show('people')
  await page.getByLabel('Operator token').waitFor()
  await page.context().close()
})

test('a page of another site can neither read nor change anything with the operator’s session', async () => {
  const { page } = await gateway.openPage()
  const site = createServer((_, response) =>
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>evil</title>'),
  )
  await new Promise<void>(resolve => site.listen(0, '127.0.0.1', resolve))
  const { port } = site.address() as AddressInfo
  try {
    const evil = await page.context().newPage()
    await evil.goto(`http://localhost:${port}/`)
    const results = await evil.evaluate(async url => {
      const attempt = (init: RequestInit) =>
        fetch(`${url}/operator/api/agents/desk/pause`, { method: 'POST', credentials: 'include', ...init }).then(
          answer => answer.status,
          () => 'blocked',
        )
      const form = Object.assign(document.createElement('form'), {
        method: 'post',
        action: `${url}/operator/api/agents/desk/pause`,
        target: 'out',
      })
      const frame = Object.assign(document.createElement('iframe'), { name: 'out' })
      document.body.append(frame, form)
      form.submit()
      await new Promise(resolve => frame.addEventListener('load', resolve))
      return [
        await attempt({}),
        await attempt({ mode: 'no-cors' }),
        await attempt({ headers: { 'x-postern-console': '1' } }),
      ]
    }, gateway.url)
    expect(results.every(result => result === 'blocked' || result === 0)).toBe(true)
  } finally {
    site.close()
  }
  const headers = { authorization: `Bearer ${operatorToken}` }
  const { items: agents } = (await (await fetch(`${gateway.url}/operator/api/agents`, { headers })).json()) as {
    items: { is_paused: boolean }[]
  }
  expect(agents.map(({ is_paused }) => is_paused)).toEqual([false, false])
  await page.context().close()
})

test('no page can frame the console, and no page that the console opens can access it', async () => {
  const { page } = await gateway.openPage()
  const site = await serveForeignSite((_, response) =>
    response
      .setHeader('content-type', 'text/html')
      .end(`<!doctype html><title>evil</title><iframe src="${gateway.url}/operator/"></iframe>`),
  )
  try {
    const evil = await page.context().newPage()
    const texts: string[] = []
    evil.on('console', message => texts.push(message.text()))
    await evil.goto(site.origin)
    await expect.poll(() => texts.join()).toMatch(/frame-ancestors/)
    expect(await evil.frameLocator('iframe').getByRole('navigation').count()).toBe(0)
    const outcome = await evil.evaluate(url => {
      const otherWindow = window.open(`${url}/operator/`)
      return new Promise(resolve => setTimeout(() => resolve(otherWindow?.closed ?? 'cut off'), 1_000))
    }, gateway.url)
    expect(outcome).toBe(true)
  } finally {
    site.close()
  }
  await page.context().close()
})

const attack = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script><svg onload=window.hacked=1>"'\`\${1}javascript:alert(1)`

test('no text of a peer executes or becomes markup, in any field and on any screen', async () => {
  const { page, faults, show } = await gateway.openPage()
  const { simulation } = gateway
  await simulation.send({ via: 'activitypub', to: 'echo', text: attack })
  await simulation.send({ via: 'a2a', to: 'echo', text: attack })
  await simulation.mail.deliver({ to: 'echo@agents.test', text: attack, subject: attack, from: 'alice@alice.test' })
  // The attack is in the last reply of a mail server, an attachment's name, and an answer with links of every kind.
  const endRefusal = simulation.mail.refuse({ code: 550, message: `5.1.1 ${attack}`, at: 'rcpt', times: 1 })
  const links = `[a](javascript:window.hacked=1) [b](data:text/html,<script>window.hacked=1</script>) <a href="javascript:window.hacked=1">c</a>`
  await simulation.mail.deliver({ to: 'desk@agents.test', text: links, subject: attack, from: 'alice@alice.test' })
  await fetch(`${gateway.url}/inbox`, {
    method: 'POST',
    headers: { 'content-type': 'application/activity+json' },
    body: JSON.stringify({ id: attack, type: 'Create', actor: attack, object: { content: attack } }),
  })
  const listMessages = () => gateway.gateway.store.listMessages({ limit: 50 })
  await expect.poll(async () => (await listMessages()).filter(({ state }) => state === 'answered').length).toBe(4)
  await expect.poll(async () => (await gateway.gateway.store.count()).deliveries.dead).toBe(1)
  endRefusal()
  await page.getByText('<img src=x').first().waitFor()
  for (const { message } of (await listMessages()).filter(({ state }) => state === 'answered')) {
    await show(`message/${message}`)
    await page.getByRole('region', { name: 'What happened' }).waitFor()
    await page.locator('.previews [role=tabpanel] .faint').first().waitFor()
    for (const tab of await page.getByRole('tab').all()) await tab.click()
    await page.getByRole('button', { name: 'Side by side' }).click()
    await page.getByRole('dialog').locator('iframe').first().waitFor()
    await page.keyboard.press('Escape')
  }
  for (const route of [
    'people',
    `people/${encodeURIComponent(attack)}`,
    'deliveries',
    'waiting',
    `look-up/${encodeURIComponent(attack)}`,
    `message/${encodeURIComponent(attack)}`,
    'refusal/1',
    'agents/echo',
  ]) {
    await show(route)
    await page.waitForLoadState('networkidle').catch(() => undefined)
  }
  const chat = page.locator('postern-chat')
  await chat.getByRole('textbox').fill(attack)
  await chat.getByRole('textbox').press('Enter')
  await expect.poll(() => chat.locator('.message').count()).toBe(2)
  expect(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked)).toBeUndefined()
  expect(await page.locator('img, script:not([src])').count()).toBe(0)
  expect(await page.locator('a[href^="javascript:" i], a[href^="data:" i]').count()).toBe(0)
  expect(faults.filter(fault => !/about:srcdoc|inline style/.test(fault))).toEqual([])
  await page.context().close()
})

const hostileMail =
  '<base href="https://evil.test/"><meta http-equiv="refresh" content="0;url=https://evil.test/refresh"><link rel="stylesheet" href="https://evil.test/style"><style>@import "https://evil.test/import";p{background:url(https://evil.test/background)}</style><p>hello</p><img src="https://evil.test/pixel.png"><script>parent.hacked=1</script><form action="https://evil.test"><input></form><a href="https://evil.test" target="_top">out</a>'

test('the screen shows mail without its scripts, forms and remote pictures', async () => {
  const context = await gateway.browser.newContext()
  const page = await context.newPage()
  // A separate server sees all requests that leave the browser. Chromium itself also reports requests that the page's policy stops.
  const authorizations: (string | undefined)[] = []
  const evil = createServer((request, response) => {
    authorizations.push(request.url)
    response.end()
  })
  await new Promise<void>(resolve => evil.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void evil.close())
  const evilOrigin = `http://127.0.0.1:${(evil.address() as AddressInfo).port}`
  watchFaults(page)
  await page.goto(`${gateway.url}/operator/`)
  // The script is a string, because the test runner would rewrite its imports.
  await page.evaluate(`(async () => {
    const { MailFrame } = await import('/operator/app/screens/message/mail-frame.js')
    const { render, h } = await import('/operator/vendor/preact.js')
    render(h(MailFrame, { markup: ${JSON.stringify(hostileMail.replaceAll('https://evil.test', evilOrigin))} }), document.body)
  })()`)
  await page.frameLocator('iframe').getByText('hello').waitFor()
  await page.frameLocator('iframe').getByText('out').click()
  await page.waitForTimeout(500)
  expect(page.url()).toBe(`${gateway.url}/operator/`)
  expect(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked)).toBeUndefined()
  expect(authorizations).toEqual([])
  await context.close()
})
