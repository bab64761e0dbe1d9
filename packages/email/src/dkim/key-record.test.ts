import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { createKeyReader } from './key-cache.ts'
import { parseKeyRecord } from './key-record.ts'

const rsaKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const ed25519Key = generateKeyPairSync('ed25519').privateKey
const publicDer = (key: typeof rsaKey, type: 'spki' | 'pkcs1' = 'spki') =>
  createPublicKey(key).export({ type, format: 'der' })
const rsaText = publicDer(rsaKey).toString('base64')
const edwardsText = publicDer(ed25519Key).subarray(-32).toString('base64')

test('the parser reads an RSA key with its length, in any encoding', () => {
  const expectedRecord = {
    keyType: 'rsa',
    bits: 2048,
    isTesting: false,
    forbidsSubdomains: false,
    isSlowToVerify: false,
  }
  expect(parseKeyRecord(`p=${rsaText}`)).toMatchObject(expectedRecord)
  expect(parseKeyRecord(`v=DKIM1; k=rsa; p=${publicDer(rsaKey, 'pkcs1').toString('base64')};`)).toMatchObject(
    expectedRecord,
  )
  expect(parseKeyRecord(`v=DKIM1; h=sha1:sha256; s=chat:*; p=${rsaText.replace(/.{60}/g, '$& \t')}`)).toMatchObject(
    expectedRecord,
  )
})

test('the parser accepts an Ed25519 key as its 32 octets (RFC 8463 §4)', () => {
  expect(parseKeyRecord(`k=ed25519; p=${edwardsText}`)).toMatchObject({ keyType: 'ed25519', isSlowToVerify: false })
  const key = publicDer(ed25519Key).toString('base64')
  expect(parseKeyRecord(`k=ed25519; p=${key}`)).toEqual({ error: 'invalid public key' })
  expect(parseKeyRecord(`p=${edwardsText}`)).toEqual({ error: 'unknown key type' })
})

test('the parser recognizes test records and exact domains by t=', () => {
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

test('the parser rejects an RSA key of less than 1024 bits as weak (RFC 8301 §3.2)', () => {
  const parseKeyOfBits = (modulusLength: number) => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength })
    return parseKeyRecord(`p=${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`)
  }
  expect(parseKeyOfBits(1016)).toEqual({ error: 'weak-key' })
  expect(parseKeyOfBits(1024)).toMatchObject({ bits: 1024 })
})

test('the parser recognizes a slow key by its exponent and length', () => {
  const parseKeyOfExponent = (publicExponent: number) => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024, publicExponent })
    return parseKeyRecord(`p=${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`)
  }
  expect(parseKeyOfExponent(3)).toMatchObject({ isSlowToVerify: false })
  // A public JWK may contain any numbers, because nothing is signed with it.
  const parseKeyOfNumbers = (n: Buffer, e: Buffer) => {
    const key = createPublicKey({
      key: { kty: 'RSA', n: n.toString('base64url'), e: e.toString('base64url') },
      format: 'jwk',
    })
    return parseKeyRecord(`p=${key.export({ type: 'spki', format: 'der' }).toString('base64')}`)
  }
  const usualExponent = Buffer.from('010001', 'hex')
  expect(parseKeyOfNumbers(Buffer.alloc(512, 0xff), usualExponent)).toMatchObject({ bits: 4096, isSlowToVerify: false })
  expect(parseKeyOfNumbers(Buffer.alloc(513, 0xff), usualExponent)).toMatchObject({ bits: 4104, isSlowToVerify: true })
  expect(parseKeyOfNumbers(Buffer.alloc(256, 0xff), Buffer.alloc(5, 0xff))).toMatchObject({
    bits: 2048,
    isSlowToVerify: true,
  })
})

test('the reader imports a key once, and parses a changed record again', () => {
  const readKey = createKeyReader(parseKeyRecord)
  expect(readKey(`p=${rsaText}`)).toBe(readKey(`p=${rsaText}`))
  expect(readKey(`t=y; p=${rsaText}`)).toMatchObject({ isTesting: true })
  expect(readKey('p=')).toEqual({ error: 'invalid public key' })
})
