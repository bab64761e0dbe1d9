import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openSimWorld } from '@postern/sim'
import { shopkeeper } from '../../demand-steps.ts'
import { ourHost, ourOrigin, ports } from '../names.ts'
import { startOurGateway } from '../our-gateway.ts'
import { openPrivateNetwork } from '../private-network.ts'
import { runSteps, say } from '../run-steps.ts'
import { openTlsFront } from '../tls-front.ts'
import { openBrowser } from './open-browser.ts'
import { browserSteps } from './steps.ts'

const [chromium = '/usr/bin/chromium', directory = '.'] = process.argv.slice(2)
const smtpPort = 2525

/** A real browser before our gateway, with TLS between them. `PEERS_LOGS=1` shows our log in any case. */
async function runBrowserExam(): Promise<boolean> {
  const network = await openPrivateNetwork(directory)
  const front = await openTlsFront(network, { [ourHost]: ports.gateway })
  const world = await openSimWorld()
  const place = join(directory, 'gateway')
  mkdirSync(place)
  const more = {
    agents: { shop: shopkeeper },
    network: { dns: world.network.dns },
    email: { listen: { port: smtpPort, protocol: 'smtp' }, submit: world.mail.submit },
  }
  const gateway = await startOurGateway(place, { more })
  world.connectGateway({ origin: ourOrigin, port: ports.gateway, smtpPort })
  const browsers = {
    plain: await openBrowser(chromium, { directory, javaScriptEnabled: false }),
    scripted: await openBrowser(chromium, { directory, javaScriptEnabled: true }),
  }
  const failures = await runSteps(browserSteps, { world, gateway, browsers, link: '' })
  for (const browser of Object.values(browsers)) await browser.close()
  await gateway.stop()
  await world.close()
  front.close()
  if (failures > 0 || process.env.PEERS_LOGS) say(`\nour gateway says:\n${gateway.log()}`)
  say(`${browserSteps.length - failures} passed, ${failures} failed`)
  return failures === 0
}

process.exitCode = (await runBrowserExam()) ? 0 : 1
