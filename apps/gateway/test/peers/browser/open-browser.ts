// Opens a browser that trusts the private network.
import { join } from 'node:path'
import type { BrowserContext } from 'playwright-core'
import { chromium } from 'playwright-core'

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Opens a new browser that accepts the private network's certificate authority. */
export function openBrowser(
  executablePath: string,
  { directory, javaScriptEnabled }: { readonly directory: string; readonly javaScriptEnabled: boolean },
): Promise<BrowserContext> {
  const userData = join(directory, `browser-${javaScriptEnabled}`)
  return chromium.launchPersistentContext(userData, {
    executablePath,
    args: flags,
    ignoreHTTPSErrors: true,
    javaScriptEnabled,
  })
}
