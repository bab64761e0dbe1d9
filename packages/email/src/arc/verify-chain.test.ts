import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { sealMessage } from 'mailauth/lib/arc/index.js'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { expect, test } from 'vitest'
import { judgeChain } from './verify-chain.ts'

const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const der = createPublicKey(key).export({ type: 'spki', format: 'der' })
const options = { strict: true, resolver: async () => [[`v=DKIM1; k=rsa; p=${der.toString('base64')}`]] }
const message = 'From: ann@open.test\r\nSubject: Hi\r\n\r\nHello.\r\n'

async function createChain() {
  const privateKey = key.export({ type: 'pkcs8', format: 'pem' }).toString()
  const authResults = 'list.test; dmarc=pass header.from=open.test'
  const sealing = { signingDomain: 'list.test', selector: 'seal', privateKey, authResults, cv: 'none' }
  const { arc } = await dkimVerify(Buffer.from(`${await sealMessage(message, sealing)}${message}`), options)
  return arc as unknown as { lastEntry: { messageSignature: { status: { underSized?: number } } } }
}

test('judgeChain() passes a complete chain, and recognizes its last seal again', async () => {
  const report = await judgeChain(await createChain(), options)
  expect(report).toMatchObject({ result: 'pass', domain: 'list.test', dmarc: { result: 'pass', from: 'open.test' } })
  expect(report.id).toMatch(/^[0-9a-f]{64}$/)
})

test('judgeChain() fails a chain that sealed only the beginning of the body (EM-08, EM-22)', async () => {
  const chain = await createChain()
  chain.lastEntry.messageSignature.status.underSized = 3
  expect(await judgeChain(chain, options)).toMatchObject({ result: 'fail', comment: 'undersized' })
})
