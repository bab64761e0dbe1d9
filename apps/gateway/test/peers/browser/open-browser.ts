// Opens a browser that ignores certificate errors, because the private network has its own certificate authority.
import { join } from 'node:path'
import type { BrowserContext } from 'playwright-core'
import { chromium } from 'playwright-core'

const chromiumFlags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Opens a new browser with an empty profile below `directory`. */
export function openBrowser(
  executablePath: string,
  { directory, javaScriptEnabled }: { readonly directory: string; readonly javaScriptEnabled: boolean },
): Promise<BrowserContext> {
  const userDataFolder = join(directory, `browser-${javaScriptEnabled}`)
  return chromium.launchPersistentContext(userDataFolder, {
    executablePath,
    args: chromiumFlags,
    ignoreHTTPSErrors: true,
    javaScriptEnabled,
  })
}
