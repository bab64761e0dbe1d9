import type { Form } from '../webhook/body.ts'
import { clientOf, formText, missingRawMail, parseForm, splitAddresses } from '../webhook/body.ts'
import type { BasicCredentials } from '../webhook/proof.ts'
import { checkBasicCredentials } from '../webhook/proof.ts'
import type { MailProvider } from './provider.ts'

/** CloudMailin in its format "Raw": one form field with the mail, and the envelope beside it. */
export function openCloudMailin(credentials: BasicCredentials): MailProvider {
  return {
    checkHeaders: headers => checkBasicCredentials(headers, credentials),
    decode({ headers, body }) {
      checkBasicCredentials(headers, credentials)
      const form = parseForm(headers, body)
      const octets = form.get('message')
      if (!octets?.length) throw missingRawMail('Choose the format "Raw".')
      const said = (name: string) => formText(form, `envelope[${name}]`)
      const envelope = {
        from: said('from'),
        to: listRecipients(form),
        ...clientOf(said('remote_ip'), said('helo_domain')),
      }
      return { octets, envelope, isLossy: true }
    },
  }
}

/** One mail for several recipients names them in a list; `to` is then one of them (CloudMailin, "HTTP POST formats"). */
function listRecipients(form: Form): readonly string[] {
  const names = [...form.keys()].filter(name => /^envelope\[recipients\](?:\[\d+\])?$/.test(name))
  const named = names.flatMap(name => splitAddresses(formText(form, name)))
  return named.length > 0 ? named : [formText(form, 'envelope[to]')]
}
