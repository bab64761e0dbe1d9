// Authenticates and decodes the webhooks of CloudMailin.

import type { BasicCredentials } from '../webhook/authentication.ts'
import { checkBasicCredentials } from '../webhook/authentication.ts'
import type { Form } from '../webhook/body.ts'
import { createMissingMailError, formText, parseForm, readClient, splitAddresses } from '../webhook/body.ts'
import type { MailProvider } from './provider.ts'

/**
 * Opens CloudMailin's webhook in the format "Raw": one form field contains the mail, and the other fields contain the
 * envelope.
 */
export function openCloudMailin(credentials: BasicCredentials): MailProvider {
  return {
    checkHeaders: headers => checkBasicCredentials(headers, credentials),
    decode({ headers, body }) {
      checkBasicCredentials(headers, credentials)
      const form = parseForm(headers, body)
      const octets = form.get('message')
      if (!octets?.length) throw createMissingMailError('Choose the format "Raw".')
      const readEnvelopeField = (name: string) => formText(form, `envelope[${name}]`)
      const envelope = {
        from: readEnvelopeField('from'),
        to: listRecipients(form),
        ...readClient(readEnvelopeField('remote_ip'), readEnvelopeField('helo_domain')),
      }
      return { octets, envelope, isLossy: true }
    },
  }
}

/**
 * Returns the recipients. A mail for several recipients lists all of them, and its `to` is one of these recipients
 * (CloudMailin, "HTTP POST formats").
 */
function listRecipients(form: Form): readonly string[] {
  const names = [...form.keys()].filter(name => /^envelope\[recipients\](?:\[\d+\])?$/.test(name))
  const addresses = names.flatMap(name => splitAddresses(formText(form, name)))
  return addresses.length > 0 ? addresses : [formText(form, 'envelope[to]')]
}
