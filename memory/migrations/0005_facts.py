import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0004_documents")]

    operations = [
        migrations.CreateModel(
            name='FactBook',
            fields=[
                ('member', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='fact_book', serialize=False, to='memory.member')),
                ('forgotten', models.PositiveIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='Fact',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('namespace', models.CharField(max_length=100)),
                ('text', models.TextField(blank=True, help_text='Empty once it has expired.')),
                ('normal', models.CharField(help_text='Hash of the text without case, punctuation and spaces.', max_length=64)),
                ('source', models.CharField(choices=[('auto', 'found in a message'), ('manual', 'written by hand')], max_length=6)),
                ('trust', models.PositiveSmallIntegerField(choices=[(1, "a model's reading of a message"), (2, 'the member'), (3, 'an operator')], default=1)),
                ('state', models.CharField(choices=[('active', 'Active'), ('superseded', 'Superseded'), ('expired', 'Expired'), ('quarantined', 'Quarantined')], default='active', max_length=11)),
                ('reason', models.CharField(blank=True, help_text='Why it is in quarantine, as a stable code.', max_length=30)),
                ('audience', models.CharField(choices=[('any', 'anywhere'), ('guild', 'one server'), ('dm', 'a private conversation')], default='any', max_length=5)),
                ('said_at', models.DateTimeField(help_text='When it was last stated.')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('evidence', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='facts', to='memory.message')),
                ('guild', models.ForeignKey(blank=True, help_text='Learned there.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.guild')),
                ('member', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='facts', to='memory.member')),
                ('rival', models.ForeignKey(blank=True, help_text='The fact that this one may contradict, until somebody decides.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='rivals', to='memory.fact')),
                ('superseded_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='supersedes', to='memory.fact')),
            ],
        ),
        migrations.CreateModel(
            name='FactVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField(blank=True)),
                ('action', models.CharField(help_text='created, edited, superseded, merged, approved, …', max_length=12)),
                ('actor', models.CharField(help_text='model, member, operator, expiry', max_length=10)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('fact', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='memory.fact')),
            ],
        ),
        migrations.CreateModel(
            name='ReplyFact',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('fact', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='uses', to='memory.fact')),
                ('reply', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='facts', to='memory.reply')),
            ],
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(fields=['member', 'namespace', 'state', 'created_at'], name='fact_of_member'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(fields=['state', '-updated_at', '-id'], name='fact_newest'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(condition=models.Q(('expires_at__isnull', False)), fields=['expires_at'], name='fact_expiry'),
        ),
        migrations.AddConstraint(
            model_name='fact',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'active')), fields=('member', 'namespace', 'normal'), name='fact_active_once'),
        ),
        migrations.AddConstraint(
            model_name='replyfact',
            constraint=models.UniqueConstraint(fields=('reply', 'fact'), name='reply_fact_once'),
        ),
    ]
