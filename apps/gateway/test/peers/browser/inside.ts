// Runs the exam with a real browser.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openSimulation } from '@postern/simulation'
import type { BrowserContext } from 'playwright-core'
import { shopkeeper } from '../../setup/requirement-steps.ts'
import { chatAppHost, chatAppOrigin, ourHost, ourOrigin, ports } from '../names.ts'
import { startOurGateway } from '../our-gateway.ts'
import { openPrivateNetwork } from '../private-network.ts'
import { printLine, runSteps } from '../run-steps.ts'
import { openTlsFront } from '../tls-front.ts'
import { clerk, readTrust, startChatRoom } from './chat-room.ts'
import { openBrowser } from './open-browser.ts'
import { roomSteps } from './room-steps.ts'
import { browserSteps } from './steps.ts'

const [chromium = '/usr/bin/chromium', directory = '.'] = process.argv.slice(2)
const smtpPort = 2525

/** Runs the steps with a browser in front of our gateway, with TLS between them. `PEERS_LOGS=1` shows our log even on success. */
async function runBrowserExam(): Promise<boolean> {
  const network = await openPrivateNetwork(directory)
  const front = await openTlsFront(network, { [ourHost]: ports.gateway, [chatAppHost]: ports.chat })
  const simulation = await openSimulation()
  const folder = join(directory, 'gateway')
  mkdirSync(folder)
  const overrides = {
    ...readTrust(),
    agents: { shop: shopkeeper, clerk, echo: { use: 'builtin:echo' } },
    network: { dns: simulation.network.dns, allow_private: [chatAppOrigin] },
    email: { listen: { port: smtpPort, protocol: 'smtp' }, submit: simulation.mail.submit },
  }
  const gateway = await startOurGateway(folder, { caPath: network.certPath, overrides })
  simulation.connectGateway({ origin: ourOrigin, port: ports.gateway, smtpPort })
  const browsers = {
    plain: await openBrowser(chromium, { directory, javaScriptEnabled: false }),
    scripted: await openBrowser(chromium, { directory, javaScriptEnabled: true }),
  }
  const mailFailures = await runSteps(browserSteps, { simulation, gateway, browsers, link: '' })
  const room = await startChatRoom(directory)
  const [ann, bob] = await Promise.all(['ann', 'bob'].map(openPersonBrowser))
  const people = { ann: ann as BrowserContext, bob: bob as BrowserContext, cy: browsers.plain }
  const roomFailures = await runSteps(roomSteps, { room, browsers: people, problems: [], requested: new Set<string>() })
  const failures = mailFailures + roomFailures
  for (const browser of new Set([...Object.values(browsers), ...Object.values(people)])) await browser.close()
  await room.stop()
  await gateway.stop()
  await simulation.close()
  front.close()
  if (failures > 0 || process.env.PEERS_LOGS)
    printLine(`\nour gateway says:\n${gateway.log()}\nthe chat room says:\n${room.log()}`)
  printLine(`${browserSteps.length + roomSteps.length - failures} passed, ${failures} failed`)
  return failures === 0
}

/** Opens a browser of one person, which runs scripts. */
function openPersonBrowser(name: string): Promise<BrowserContext> {
  return openBrowser(chromium, { directory: join(directory, name), javaScriptEnabled: true })
}

process.exitCode = (await runBrowserExam()) ? 0 : 1
