// Takes the screenshots of the console.
import { mkdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ConsoleGateway } from './console-gateway.ts'
import { openConsoleGateway } from './console-gateway.ts'

// The folder of the pictures. `npm run screenshots` writes them into docs/images; the other test runs only show that they can be taken.
const folder = process.env.TEST_PICTURES ?? join(tmpdir(), 'postern-pictures')

const agentFolder = fileURLToPath(new URL('../agents/console', import.meta.url))

let gateway: ConsoleGateway
beforeAll(async () => {
  gateway = await openConsoleGateway()
  mkdirSync(folder, { recursive: true })
  const { simulation } = gateway
  const traffic = [
    { via: 'activitypub', to: 'desk', text: 'When are you open on Sunday?' },
    { via: 'email', to: 'desk', text: 'Order 1182, please change the address' },
    { via: 'a2a', to: 'desk', text: '{"intent":"quote","items":3}' },
    { via: 'activitypub', to: 'desk', text: 'Hello, I am Alice', fault: 'forged' },
    { via: 'email', to: 'desk', text: 'Question about the lecture: please fail' },
    { via: 'a2a', to: 'echo', text: 'without a token', fault: 'unsigned' },
    { via: 'activitypub', to: 'desk', text: 'Thanks! And do you deliver?', from: 'bob@gotosocial.test' },
    { via: 'email', to: 'desk', text: 'Our autumn offers', fault: 'unsigned' },
    { via: 'a2a', to: 'echo', text: 'Please confirm invoice 20-114' },
  ] as const
  for (const message of traffic) await simulation.send(message)
})
afterAll(() => gateway.close())

test.each(['light', 'dark'] as const)(
  'the program takes pictures of Flow and of a message, in %s',
  async colorScheme => {
    const { page, show } = await gateway.openPage({ colorScheme, viewport: { width: 1280, height: 720 } })
    // The pictures must not show the folder of this copy of the repository.
    await page.route('**/operator/api/outcomes?*', async route => {
      const response = await route.fetch()
      await route.fulfill({ response, body: (await response.text()).replaceAll(agentFolder, 'agents') })
    })
    await page.reload()
    const pathOf = (name: string) => join(folder, `console-${name}-${colorScheme}.png`)
    await expect.poll(() => page.locator('.rows li').count()).toBe(9)
    await page.waitForTimeout(500)
    await expect.poll(() => page.locator('.rows').textContent()).toContain('threw an error at agents/')
    await page.screenshot({ path: pathOf('flow') })
    const mail = (await gateway.gateway.store.listMessages({ limit: 20 })).find(({ preview }) =>
      preview.includes('1182'),
    )
    await show(`message/${mail?.message}`)
    await page.getByRole('region', { name: 'What happened' }).waitFor()
    await page.waitForTimeout(500)
    await page.screenshot({ path: pathOf('message') })
    for (const name of ['flow', 'message']) expect(statSync(pathOf(name)).size).toBeGreaterThan(20_000)
    await page.context().close()
  },
)
