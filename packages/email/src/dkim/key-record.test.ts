import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { createKeyReader } from './key-cache.ts'
import { parseKeyRecord } from './key-record.ts'

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const edwards = generateKeyPairSync('ed25519').privateKey
const publicDer = (key: typeof rsa, type: 'spki' | 'pkcs1' = 'spki') =>
  createPublicKey(key).export({ type, format: 'der' })
const rsaText = publicDer(rsa).toString('base64')
const edwardsText = publicDer(edwards).subarray(-32).toString('base64')

test('the reader reads an RSA key with its length, in any encoding', () => {
  const read = { keyType: 'rsa', bits: 2048, isTesting: false, forbidsSubdomains: false, isSlowToVerify: false }
  expect(parseKeyRecord(`p=${rsaText}`)).toMatchObject(read)
  expect(parseKeyRecord(`v=DKIM1; k=rsa; p=${publicDer(rsa, 'pkcs1').toString('base64')};`)).toMatchObject(read)
  expect(parseKeyRecord(`v=DKIM1; h=sha1:sha256; s=chat:*; p=${rsaText.replace(/.{60}/g, '$& \t')}`)).toMatchObject(
    read,
  )
})

test('the reader takes an Ed25519 key as its 32 bytes (RFC 8463 §4)', () => {
  expect(parseKeyRecord(`k=ed25519; p=${edwardsText}`)).toMatchObject({ keyType: 'ed25519', isSlowToVerify: false })
  const key = publicDer(edwards).toString('base64')
  expect(parseKeyRecord(`k=ed25519; p=${key}`)).toEqual({ error: 'invalid public key' })
  expect(parseKeyRecord(`p=${edwardsText}`)).toEqual({ error: 'unknown key type' })
})

test('the reader recognizes test records and exact domains by t=', () => {
  expect(parseKeyRecord(`t=y:s; p=${rsaText}`)).toMatchObject({ isTesting: true, forbidsSubdomains: true })
})

test.each([
  ['', 'invalid public key'],
  ['v=DKIM1; k=rsa; p=', 'invalid public key'],
  ['v=DKIM1; k=rsa', 'invalid public key'],
  ['v=DKIM1; p=*', 'invalid public key'],
  [`v=DKIM1; k=rsa; k=rsa; p=${rsaText}`, 'invalid public key'],
  [`v=DKIM1;; p=${rsaText}`, 'invalid public key'],
  [`v=DKIM2; p=${rsaText}`, 'unknown key version'],
  [`v=dkim1; p=${rsaText}`, 'unknown key version'],
  [`k=rsa; v=DKIM1; p=${rsaText}`, 'unknown key version'],
  [`s=chat; p=${rsaText}`, 'key not for email'],
  [`h=sha1; p=${rsaText}`, 'inappropriate hash algorithm'],
  [`k=dsa; p=${rsaText}`, 'unknown key type'],
  ['p=AAAA', 'unknown key type'],
])('the record %j verifies nothing', (record, error) => {
  expect(parseKeyRecord(record)).toEqual({ error })
})

test('the reader marks an RSA key of less than 1024 bits as weak (RFC 8301 §3.2)', () => {
  const bitsOf = (modulusLength: number) => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength })
    return parseKeyRecord(`p=${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`)
  }
  expect(bitsOf(1016)).toEqual({ error: 'weak-key' })
  expect(bitsOf(1024)).toMatchObject({ bits: 1024 })
})

test('the reader recognizes a slow key by its exponent and length', () => {
  const withExponent = (publicExponent: number) => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024, publicExponent })
    return parseKeyRecord(`p=${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`)
  }
  expect(withExponent(3)).toMatchObject({ isSlowToVerify: false })
  // A public JWK may contain any numbers, because nothing is signed with it.
  const read = (n: Buffer, e: Buffer) => {
    const key = createPublicKey({
      key: { kty: 'RSA', n: n.toString('base64url'), e: e.toString('base64url') },
      format: 'jwk',
    })
    return parseKeyRecord(`p=${key.export({ type: 'spki', format: 'der' }).toString('base64')}`)
  }
  const usual = Buffer.from('010001', 'hex')
  expect(read(Buffer.alloc(512, 0xff), usual)).toMatchObject({ bits: 4096, isSlowToVerify: false })
  expect(read(Buffer.alloc(513, 0xff), usual)).toMatchObject({ bits: 4104, isSlowToVerify: true })
  expect(read(Buffer.alloc(256, 0xff), Buffer.alloc(5, 0xff))).toMatchObject({ bits: 2048, isSlowToVerify: true })
})

test('the reader imports a key once, and parses a changed record again', () => {
  const read = createKeyReader(parseKeyRecord)
  expect(read(`p=${rsaText}`)).toBe(read(`p=${rsaText}`))
  expect(read(`t=y; p=${rsaText}`)).toMatchObject({ isTesting: true })
  expect(read('p=')).toEqual({ error: 'invalid public key' })
})
